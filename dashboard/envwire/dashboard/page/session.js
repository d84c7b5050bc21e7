// One session: what it does, or how it ended: events, exit status, last output, last picture.

import { follow, get, post } from "./api.js"
import {
  bars, chart, copyButton, count, counted, duration, el, legend, number, processors, replace, shareBar, size,
} from "./dom.js"

export function sessionView(view, parameters) {
  const place = { server: parameters.get("server"), id: parameters.get("id") }
  const stopped = new AbortController()
  const body = el("div")
  const picture = el("div", { class: "last" })
  const ending = el("p", {}, el("button", { class: "danger", "data-key": "end", onclick: () => end() }, "end this session"))
  const copy = copyButton(place.id, "the id of the session")
  const printed = el("pre", { class: "panel", tabindex: 0, "data-key": "output" })
  let pictures = false
  let owner = ""
  replace(view, body)

  async function load() {
    try {
      const session = await get("session", place, stopped.signal)
      showPicture(session)
      replace(body, contents(session))
      if (session.row?.frames && !pictures) watch()
    } catch (error) {
      if (error.name !== "AbortError") replace(body, el("p", {}, error.message))
    }
  }

  function watch() {
    pictures = true
    const tile = `${place.server}/${place.id}`
    follow(`wall?${new URLSearchParams({ tile })}`, showTile, stopped.signal).catch(() => {})
  }

  function showTile(tile) {
    replace(picture, tile.png ? el("img", { src: tile.png, alt: "The environment now" }) : tile.text)
  }

  function showPicture(session) {
    if (session.row?.frames && !session.refused) return
    replace(picture, session.picture ? el("img", { src: session.picture, alt: "The last picture" }) : "no picture")
  }

  function contents(session) {
    const row = session.row
    if (!row) return el("p", {}, session.verdict)
    return [
      el("p", { class: "verdict" }, session.verdict),
      el("div", { class: "columns" },
        el("div", {}, facts(row, session, copy), session.rates ? steps(session.rates) : null,
          el("h2", {}, "What happened"), events(session, row), el("h2", {}, "Last output"), output(session, printed)),
        el("div", {}, picture, buttons(session, row), episodes(session))),
    ]
  }

  function buttons(session, row) {
    owner = row.client
    if (!session.admin || session.events?.some((event) => event.text.startsWith("ended"))) return null
    return ending
  }

  async function end() {
    if (!confirm(`End the session of ${owner}? Its environment is closed, and its client is told.`)) return
    try { await post("end", place) } catch (error) { alert(error.message) }
    load()
  }

  load()
  const timer = setInterval(load, 1000)
  return { stop: () => { clearInterval(timer); stopped.abort() } }
}

const steps = (rates) => [
  el("h2", {}, "Steps a second"),
  el("div", { class: "panel" }, chart(rates, "Steps a second in the last five minutes")),
]

function facts(row, session, copy) {
  const known = {
    environment: row.env, client: row.client, server: row.server, session: [`${row.id} `, copy], state: row.state,
    age: duration(row.age), steps: count(row.steps), "steps a second": count(row.rate),
    ...(session.rates ? { processors: processors(row.processor), memory: size(row.memory) } : {}),
  }
  if (session.exit_status != null) known["exit status"] = session.exit_status
  Object.assign(known, recoveries(session.counters))
  return el("div", { class: "panel" },
    el("dl", {}, Object.entries(known).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("h2", {}, "Where its time goes"), shareBar(row), legend(row))
}

// What the session counted, where there is something to tell.
function recoveries(counters) {
  if (!counters) return {}
  const { epoch, loss, repeated, replayed } = counters
  return {
    ...(epoch ? { "sessions lost before": `${count(epoch)}, the last one after ${loss}` } : {}),
    ...(replayed ? { "requests replayed": count(replayed) } : {}),
    ...(repeated ? { "requests repeated": count(repeated) } : {}),
  }
}

function episodes(session) {
  if (session.refused) return null
  const { episodes: ended, mean_return: mean, mean_length: length } = session.counters
  if (!ended) return [el("h2", {}, "Episodes"), el("p", { class: "soft" }, "None has ended so far.")]
  const told = `${counted(ended, "episode")}, mean return ${mean == null ? "unknown" : number(mean)}, `
    + `mean length ${number(length)}`
  const each = session.episodes.map(({ total, length: steps }) =>
    ({ value: total, title: `return ${number(total)}, ${counted(steps, "step")}` }))
  return [
    el("h2", {}, "Episodes"),
    el("div", { class: "panel" },
      el("p", { class: "episodes" }, told),
      el("p", { class: "soft" }, "Returns of the last ones"),
      bars(each, `Returns of the last episodes: ${each.map(({ title }) => title).join("; ")}`),
      el("p", { class: "soft" }, "Their lengths"),
      bars(each.map(({ title }, at) => ({ value: session.episodes[at].length, title })), "Lengths of the last episodes")),
  ]
}

function events(session, row) {
  if (session.refused) return el("p", { class: "soft" }, session.refused)
  const first = session.events[0]?.at ?? 0
  return el("ol", { class: "events panel" }, session.events.map((event) =>
    el("li", {}, el("time", {}, `+${duration(event.at - first)}`), event.text)))
}

// The element stays, and where it was scrolled to, while its text is the same.
function output(session, printed) {
  if (session.refused) return null
  if (session.output_withheld) return el("p", { class: "soft" }, "Clients share its process: admins see the output.")
  const text = session.output || "nothing so far"
  if (printed.textContent !== text) printed.textContent = text
  return [
    session.error ? el("p", { class: "error" }, session.error) : null,
    printed,
  ]
}
