"""Weather: today's, the next days', and what is usual."""

from datetime import timedelta

from benchmarks.teach.talk import Talk
from benchmarks.teach.worlds import MONTHS
from rig.plugins.author.speech import full_day


def today(talk: Talk) -> None:
    """Today's weather, here or elsewhere."""
    if talk.random.random() < 0.5:
        city = talk.things.city
        talk.wish(
            "weather_here",
            "[[what's the weather|how's the weather|what is the weather like] [today|"
            "right now|outside|here|]?|do i need [an umbrella|a coat|sunscreen|a "
            "hat] today?"
            "|is it [cold|warm|raining|sunny|windy] [today|outside|here]?|how [cold|"
            "warm|hot] is it [today|outside]?|weather today?"
            "|will it [rain|snow] today?]",
        )
    else:
        city = talk.random.choice(talk.things.cities)
        talk.wish(
            "weather_there",
            "[[what's the weather like|how's the weather|what's it like] in {city} "
            "[today|right now|now|]?|is it [raining|snowing|warm|cold|sunny] in "
            "{city} [today|right now|]?"
            "|how [cold|warm|hot] is it in {city} [today|]?|weather in {city} today?|"
            "current weather in {city}|what's it doing in {city}?|is {city} [wet|cold|sunny|any "
            "better] today?"
            "|my [sister|brother|boss|aunt] is in {city}, [is it cold there|how's the weather there]?"
            "|do people need coats in {city} today?]",
            city=city,
        )
    got = talk.call("CurrentWeather", location=city)["weather"]
    talk.reply(
        (
            "[{sky} in {city} today, between {low} and {high} degrees|It's {sky} in "
            "{city}, {low} to {high} degrees]."
        ),
        city=city,
        sky=got["conditions"].lower(),
        low=got["low"],
        high=got["high"],
    )
    if talk.random.random() < 0.15:
        talk.user("[what was the low again|how low does it go|and the lowest]?")
        talk.reply("{low} degrees.", low=got["low"])
    if talk.random.random() < 0.35:
        _next_days(talk, city)


def _next_days(talk: Talk, city: str) -> None:
    talk.user("[and|what about|how about] [tomorrow|the next days|the coming days]?")
    _forecast(talk, city, 1)


def forecast(talk: Talk) -> None:
    """The next days' weather; the place may have to be asked for."""
    ahead = talk.random.choice([1, 1, 1, 2, 2, 3])
    named = f"on {talk.now + timedelta(days=ahead):%A}"
    near = talk.random.choice(
        [{1: "tomorrow", 2: "the day after tomorrow", 3: named}[ahead], named, "in the next few days"]
    )
    kind = talk.random.random()
    city = talk.things.city if kind < 0.4 or 0.75 < kind < 0.79 else talk.random.choice(talk.things.cities)
    if kind < 0.4:
        talk.wish(
            "forecast_here",
            "[[what will the weather be|how will the weather be|what's the weather "
            "going to be like] {near}?|will it [rain|snow|be sunny|be warm] {near}?"
            "|what's the forecast?|forecast please|do i need [an umbrella|a jacket] {near}?"
            "|does it [stay like this|get better|clear up] {near}?|what's the sky up to {near}?"
            "|will the [washing|grass|paint] dry {near}?|what are the coming days like?]",
            near=near,
        )
    elif kind < 0.75:
        talk.wish(
            "forecast_there",
            "[[what will the weather be like|how's the weather|what's the weather] "
            "in {city} {near}?|will it [rain|snow|be warm] in {city} {near}?"
            "|{city} {near}, what's the weather?|what's the forecast for {city}?"
            "|what's coming in {city} {near}?|we're off to {city} {near}, [will it rain|what do i pack]?]",
            near=near,
            city=city,
        )
    elif kind < 0.88:
        here = talk.things.city
        talk.user(
            (
                "[we're [having a picnic|moving house|going for a ride|painting the "
                "fence] {near}[, i hope it stays dry|, i hope the weather is good|]|i "
                "want to [go hiking|go sailing|work outside] {near}[, if the weather is "
                "fine|]]"
            ),
            near=near,
        )
        talk.reply("[Shall I check the forecast for {here}|Do you want the forecast? For {here}]?", here=here)
        if city == here:
            talk.user("[yes please|yes|yes, for {here}|sure]", here=here)
        else:
            talk.user("[no, |not here, |no, we'll be |][for|in] {city}", city=city)
    else:
        talk.user(
            (
                "[i'd like the weather forecast|can i get a weather forecast?|i'm "
                "[traveling|going on a trip|away] {near}, how's the weather going to be?]"
            ),
            near=near,
        )
        talk.reply("[For which city|For which place|Where are you going]?")
        talk.user("[for|] {city}", city=city)
    _forecast(talk, city, ahead)
    if talk.random.random() < 0.25:
        talk.user("[which day is the warmest|when is it warmest|which of these days is best]?")
        got = max(talk.last("ForecastWeather")["forecast"], key=lambda each: each["high"])
        talk.reply(
            "[The warmest is|I'd take] {date}, with {high} degrees.", date=got["date"], high=got["high"]
        )


def _forecast(talk: Talk, city: str, ahead: int) -> None:
    got = talk.call("ForecastWeather", location=city)["forecast"]
    asked, on = got[ahead - 1], full_day(talk.now, (talk.now + timedelta(days=ahead)).date())
    talk.reply(
        "[{sky} in {city} {on}, {low} to {high} degrees|{sky} {on}, up to {high} degrees].",
        city=city,
        on=on,
        sky=asked["conditions"],
        low=asked["low"],
        high=asked["high"],
    )


def usual(talk: Talk) -> None:
    """What is usual in a month; place or month may have to be asked for."""
    city = talk.things.city if talk.random.random() < 0.2 else talk.random.choice(talk.things.cities)
    name = talk.random.choice(MONTHS)
    kind = talk.random.random()
    if kind < 0.55:
        talk.wish(
            "usual",
            "[[what's the weather usually like|how [hot|cold|warm] does it [usually|"
            "normally|] get|how much does it [usually|normally] rain|how much [rain|"
            "snow] is normal|what is the usual weather] in {city} in {name}?"
            "|is it [cold|hot|rainy|wet] in {city} in {name} [usually|normally]?|"
            "does it [usually|normally|often] snow in {city} in {name}?]",
            city=city,
            name=name,
        )
    elif kind < 0.8:
        talk.user(
            (
                "[[we're|i'm] thinking of [a trip|going|traveling] to {city} [this year|"
                "next year|some day]|we'd like to see {city}]"
            ),
            city=city,
        )
        talk.reply("[Nice|That sounds good]! [When do you want to go|In which month]?")
        talk.user(
            (
                "[in|maybe|probably|] {name}[, [what's the weather like|how warm is it] "
                "then?|. what is [usual|normal] there then?]"
            ),
            name=name,
        )
    else:
        talk.user("[how's {name} usually|what's {name} normally like], weather-wise?", name=name)
        talk.reply("[In which city|Where]?")
        talk.user("{city}", city=city)
    got = talk.call("HistoricWeather", location=city, month=name)["weather"]
    talk.reply(
        (
            "[In {name} it's usually between {low} and {high} degrees in {city}|Usually "
            "{low} to {high} degrees, with {rain} inches of rain]."
        ),
        name=name,
        city=city,
        low=got["min_temp"],
        high=got["max_temp"],
        rain=got["avg_rainfall"],
    )


SCENES = ((today, 3.2), (forecast, 2.8), (usual, 3))
