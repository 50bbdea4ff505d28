"""Units of measure, each brought to one of its dimension: kilometres and miles to metres."""

from rig.scoring.texts.reading.listed import in_order

_UNITS = {
    "length": "m metre metres meter meters: 1; km kilometre kilometres kilometer kilometers: 1000; "
    "cm centimetre centimetres centimeter centimeters: 0.01; mm millimetre millimetres millimeter "
    "millimeters: 0.001; mi mile miles: 1609.344; yd yard yards: 0.9144; ft foot feet: 0.3048; "
    "inch inches: 0.0254",
    "mass": "g gram grams gramme grammes: 1; kg kilo kilos kilogram kilograms: 1000; "
    "mg milligram milligrams: 0.001; t tonne tonnes ton tons: 1000000; lb lbs: 453.592; "
    "oz ounce ounces: 28.3495; stone: 6350.29",
    "volume": "l litre litres liter liters: 1; ml millilitre millilitres milliliter milliliters: 0.001; "
    "cl centilitre centilitres centiliter centiliters: 0.01; dl decilitre decilitres: 0.1; "
    "tbsp tablespoon tablespoons: 0.015; tsp teaspoon teaspoons: 0.005; "
    "gallon gallons gal: 3.785; pint pints: 0.473; quart quarts: 0.946",
    "area": "m2 sqm: 1; km2: 1000000; sqft: 0.0929; hectare hectares ha: 10000; acre acres: 4046.86",
    "space": "m3 cbm: 1; cm3 ccm: 0.000001",
    "data": "kb kilobyte kilobytes: 1; mb megabyte megabytes: 1000; gb gigabyte gigabytes: 1000000; "
    "tb terabyte terabytes: 1000000000",
    "speed": "kmh kph: 1; mph: 1.609344; knots: 1.852",
    "power": "w watt watts: 1; kw kilowatt kilowatts: 1000",
    "energy": "kcal calories calorie: 1; kwh: 860.4",
    "celsius": "celsius centigrade: 1",
    "fahrenheit": "fahrenheit: 1",
}
UNITS = {
    word: (dimension, float(size))
    for dimension, line in _UNITS.items()
    for words, _, size in (part.partition(":") for part in line.split(";"))
    for word in in_order(words)
}
"""The dimension of each unit, and how many of its smallest one are in it."""
POWERS = {"square": "2", "squared": "2", "sq": "2", "cubic": "3", "cubed": "3"}
