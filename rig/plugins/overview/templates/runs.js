"use strict";
const field = (id) => document.getElementById(id);
const rows = [...document.querySelectorAll("tr[data-a]")];
const texts = rows.map((row) => row.textContent.toLowerCase());
let data, arms, talks;
const state = { base: "", with: "", only: true, picked: false, talk: "", suite: "" };
function make(name, parent, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  parent.append(element);
  return element;
}
function link(parent, text, hash) {
  const element = make("a", parent, text);
  element.href = hash;
  return element;
}
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\"'\"'") + "'");
const command = (...words) => ["rig", ...words, ...(data.option ? ["--runs", data.option] : [])].map(quoted).join(" ");
function numbers(ranges) {
  const found = [];
  for (const range of ranges ? ranges.split(",") : []) {
    const [first, last = first] = range.split("-").map(Number);
    for (let number = first; number <= last; number += 1) found.push(number);
  }
  return found;
}
function read() {
  const runs = data.runs.map(([id, name, date, ranges, places]) => ({ id, name, date, talks: ranges, places }));
  talks = data.talks.map((talk, number) => talk && { number, key: talk[0], name: talk[1], suite: talk[2], said: talk[3] });
  arms = data.arms.map(([run, position, name, grader, chosen, outcomes, wrong], number) => ({
    number, run: runs[run], position, name, grader, chosen, outcomes, wrong, id: runs[run].id + "/" + position,
  }));
}
function endings(arm) {
  if (arm.endings) return arm.endings;
  arm.endings = new Map();
  const outcomes = arm.outcomes.includes("/") ? arm.outcomes.split(",") : [...arm.outcomes];
  const wrong = arm.wrong ? arm.wrong.split(",") : [];
  numbers(arm.run.talks).forEach((talk, place) => {
    const outcome = outcomes[place] ?? "-";
    if (outcome === "-") return;
    const [successes, repeats = 1] = outcome.split("/").map(Number);
    const text = successes < repeats ? data.texts[wrong.shift()] : "";
    arm.endings.set(talk, { share: successes / repeats, successes, repeats, text, place: arm.run.places ? arm.run.places[place] : -1 });
  });
  return arm.endings;
}
const told = (end) => (end.repeats > 1 ? `${end.successes} of ${end.repeats}` : end.successes ? "success" : "");
function ended(parent, end, label) {
  const cell = make("td", parent);
  if (label) cell.dataset.l = label;
  const words = [told(end), end.text].filter(Boolean).join("; ");
  make("span", cell, words, end.share === 1 ? "good" : "bad").style.whiteSpace = "normal";
}
const named = (arm) => `${arm.name}, ${arm.run.name || arm.run.id} ${arm.run.date}`;
const at = (id) => arms.find((arm) => arm.id === id);
function shared(one, other) {
  const ends = endings(other);
  return [...endings(one).keys()].filter((talk) => ends.has(talk));
}
function options(select, of, chosen) {
  select.replaceChildren();
  for (const arm of of) {
    const option = make("option", select, named(arm));
    option.value = arm.id;
    option.selected = arm === chosen;
  }
}
const visible = () => arms.filter((arm) => !rows[arm.number].hidden && arm.outcomes);
function reading(cell, talk, arm, other) {
  const sides = other && other.run === arm.run ? [[other, arm]] : other ? [[arm], [other]] : [[arm]];
  for (const side of sides) {
    const { run } = side[0];
    const { place } = endings(arm.run === run ? arm : other).get(talk.number);
    const line = make("div", cell);
    if (place >= 0) link(line, "transcript", `${data.folder}/${run.id}.html#t${place}-0`).after(" ");
    make("code", line, command("show", run.id, talk.name, ...side.flatMap((each) => ["--arm", each.name])));
  }
}
function compare() {
  const [base, other] = [at(state.base), at(state.with)];
  field("picker").hidden = !base;
  for (const row of document.querySelectorAll("tr.on")) row.classList.remove("on");
  if (!base) return;
  const near = visible();
  options(field("base"), near.includes(base) ? near : [base, ...near], base);
  const beside = near.filter((arm) => arm !== base && shared(base, arm).length);
  options(field("with"), !other || beside.includes(other) ? beside : [other, ...beside], other);
  field("only").checked = state.only;
  const table = field("flips");
  table.replaceChildren();
  const line = field("told");
  line.className = "told";
  line.replaceChildren();
  if (!other) {
    make("span", line, "No other arm of those above has finished a conversation of this one.");
    return;
  }
  for (const arm of [base, other]) rows[arm.number].classList.add("on");
  const both = shared(base, other);
  const pairs = both.map((talk) => [talks[talk], endings(base).get(talk), endings(other).get(talk)]);
  const won = pairs.filter(([, was, now]) => now.share > was.share);
  const lost = pairs.filter(([, was, now]) => now.share < was.share);
  make("b", line, `${named(other)} against ${named(base)}: ${both.length} conversations in common, ${won.length} won, ${lost.length} lost. `);
  if (base.chosen || other.chosen) make("span", line, "Results chose what was played, so wins and losses are no fair count. ", "bad");
  if (base.grader !== other.grader)
    make("span", line, `They were graded differently (${data.graders[base.grader]}; ${data.graders[other.grader]}), so a change may be the grader's. `, "bad");
  make("code", line, command("compare", ...[base, other].map((arm) => `${arm.run.id}/${arm.name}`)));
  const shown = [...lost, ...won, ...(state.only ? [] : pairs.filter(([, was, now]) => now.share === was.share))];
  if (!shown.length) return;
  const head = make("tr", make("thead", table));
  for (const title of ["conversation", "", "baseline", "beside it", "to read it"]) make("th", head, title).scope = "col";
  const body = make("tbody", table);
  for (const [talk, was, now] of shown) {
    const row = make("tr", body);
    const cell = make("td", row);
    link(cell, talk.name, "#talk=" + talk.key);
    make("small", cell, " " + data.suites[talk.suite]);
    if (talk.said) make("span", cell, talk.said, "s");
    const change = Math.sign(now.share - was.share);
    make("td", row, ["lost", "alike", "won"][change + 1], ["bad o", "o", "good o"][change + 1]);
    ended(row, was, "baseline");
    ended(row, now, "beside it");
    reading(make("td", row), talk, other, base);
  }
}
function heading(box, text) {
  box.replaceChildren();
  box.hidden = false;
  make("h3", box, text);
}
function tableOf(box, titles) {
  const scroll = make("div", box, undefined, "scroll");
  const table = make("table", scroll, undefined, "w flips");
  const head = make("tr", make("thead", table));
  for (const title of titles) make("th", head, title).scope = "col";
  return make("tbody", table);
}
function showTalk() {
  const box = field("talk");
  const talk = talks.find((each) => each && each.key === state.talk);
  box.hidden = true;
  if (talk) {
    heading(box, `${talk.name}, ${data.suites[talk.suite]}`);
    if (talk.said) make("p", box, talk.said, "u");
    const body = tableOf(box, ["arm", "how it ended", "to read it"]);
    for (const arm of arms) {
      const end = endings(arm).get(talk.number);
      if (!end) continue;
      const row = make("tr", body);
      link(make("td", row), named(arm), "#with=" + arm.id);
      ended(row, end);
      reading(make("td", row), talk, arm);
    }
  } else if (state.suite !== "") {
    const name = field("suite").options[Number(state.suite) + 1]?.textContent;
    const suite = data.suites.indexOf(name === "(no name)" ? "" : name);
    heading(box, `${name}: its conversations`);
    const counts = new Map();
    for (const arm of arms)
      for (const [number, end] of endings(arm)) {
        if (talks[number].suite !== suite) continue;
        const count = counts.get(number) ?? [0, 0];
        counts.set(number, [count[0] + (end.share === 1), count[1] + 1]);
      }
    const body = tableOf(box, ["conversation", "right", "the user says first"]);
    for (const [number, [right, of]] of counts) {
      const row = make("tr", body);
      link(make("td", row), talks[number].name, "#talk=" + talks[number].key);
      make("td", row, `${right} of ${of} arms`);
      make("td", row, talks[number].said);
    }
  }
}
function filter() {
  const words = field("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [suite, file, method] = ["suite", "file", "method"].map((id) => field(id)?.value ?? "");
  const noted = field("noted").checked;
  let shown = 0;
  rows.forEach((row, number) => {
    const { s, f, m } = row.dataset;
    row.hidden = !(
      (!suite || s.split(" ").includes(suite)) && (!file || f === file) && (!method || m === method) &&
      (!noted || row.lastElementChild.textContent.trim()) && words.every((word) => texts[number].includes(word))
    );
    shown += !row.hidden;
  });
  field("found").textContent = shown < rows.length ? `${shown} of ${rows.length} arms` : "";
}
function first(base) {
  const near = visible();
  const mine = base ?? near[0];
  if (!mine) return [];
  const same = near.filter((arm) => arm !== mine && shared(mine, arm).length);
  return [mine, same.find((arm) => arm.run === mine.run) ?? same[0]];
}
function start() {
  const [base, other] = first();
  if (base) [state.base, state.with] = [base.id, other?.id ?? ""];
}
function go() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const place = ["base", "with", "talk", "suite", "file"].find((name) => asked.has(name));
  if (!place) return;
  if (asked.has("file")) {
    field("file").value = asked.get("file");
    filter();
    field("runs").scrollIntoView();
  }
  if (asked.has("base") || asked.has("with")) {
    const [base, other] = ["base", "with"].map((name) => at(asked.get(name) ?? ""));
    state.only = !(asked.get("only") === "0" || !(asked.has("base") && asked.has("with")));
    state.picked ||= Boolean(base);
    if (base && other) [state.base, state.with] = [base.id, other.id];
    else if (other) {
      const now = state.picked ? at(state.base) : undefined;
      const own = arms.find((arm) => arm.run === other.run && arm !== other && shared(arm, other).length);
      const before = now && now !== other && shared(now, other).length ? now : own ?? first(other)[1];
      [state.base, state.with] = before ? [before.id, other.id] : [other.id, ""];
    } else if (base) [state.base, state.with] = [base.id, first(base)[1]?.id ?? ""];
    compare();
    field("changed").scrollIntoView();
  }
  if (asked.has("talk") || asked.has("suite")) {
    state.talk = asked.get("talk") ?? "";
    state.suite = asked.get("suite") ?? "";
    showTalk();
    field("talk").scrollIntoView();
  }
}
function chosen() {
  state.picked = true;
  [state.base, state.with, state.only] = [field("base").value, field("with").value, field("only").checked];
  const [base, other] = [at(state.base), at(state.with)];
  if (!other || base === other || !shared(base, other).length) state.with = first(base)[1]?.id ?? "";
  history.replaceState(null, "", `#base=${state.base}&with=${state.with}${state.only ? "" : "&only=0"}`);
  compare();
}
async function unpacked() {
  const packed = field("packed");
  if (!packed) return field("data").textContent;
  const bytes = Uint8Array.from(atob(packed.textContent), (each) => each.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
unpacked().then((text) => {
  data = JSON.parse(text);
  read();
  for (const id of ["base", "with", "only"]) field(id).addEventListener("input", chosen);
  for (const id of ["find", "suite", "file", "method", "noted"])
    field(id)?.addEventListener("input", () => {
      filter();
      if (!state.picked) start();
      compare();
    });
  field("filter").hidden = false;
  addEventListener("hashchange", go);
  document.addEventListener("click", (event) => {
    const clicked = event.target.closest("a[href^='#']");
    if (clicked && clicked.hash === location.hash) go();
  });
  start();
  compare();
  go();
});
