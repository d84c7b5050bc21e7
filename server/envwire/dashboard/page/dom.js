// Elements of the page. All text becomes text nodes: nothing that a server tells is ever read as HTML.

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value)
    else if (value !== false && value != null) made.setAttribute(name, value === true ? "" : value)
  }
  made.append(...children.flat(Infinity).filter((child) => child != null))
  return made
}

// Puts children in place of those that are there; keeps the focus on what has the same data-key.
export function replace(parent, ...children) {
  const focused = parent.contains(document.activeElement) && document.activeElement.dataset.key
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child != null))
  if (focused) parent.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true })
}

const whole = new Intl.NumberFormat("en")

export const count = (number) => whole.format(Math.round(number))
export const percent = (part) => `${Math.round(part * 100)} %`

export function duration(seconds) {
  if (seconds < 100) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`
  return `${(seconds / 3600).toFixed(1)} h`
}

// A bar of the parts of the time.
const PARTS = { agent: "agent and network", environment: "environment", codec: "codec and other requests" }

export function shareBar(shares) {
  const bar = el("div", { class: "shares" })
  for (const name of Object.keys(PARTS)) {
    const part = el("span", { class: name, title: `${PARTS[name]}: ${percent(shares[name] ?? 0)}` })
    part.style.width = `${(shares[name] ?? 0) * 100}%`
    bar.append(part)
  }
  return bar
}

export const legend = (shares) =>
  el("div", { class: "legend" },
    Object.entries(PARTS).map(([name, text]) =>
      el("span", {}, el("i", { class: name }), `${text} ${percent(shares[name] ?? 0)}`)))

const SVG = "http://www.w3.org/2000/svg"

const MOST_NARROW = 30

// A line of the values of the last minutes, one a second.
export function chart(values, label) {
  const svg = document.createElementNS(SVG, "svg")
  const line = document.createElementNS(SVG, "polyline")
  const top = Math.max(1, ...values)
  const width = Math.max(MOST_NARROW, values.length) - 1
  svg.setAttribute("class", "chart")
  svg.setAttribute("viewBox", "0 0 300 64")
  svg.setAttribute("preserveAspectRatio", "none")
  svg.setAttribute("role", "img")
  svg.setAttribute("aria-label", label)
  line.setAttribute("points", values.map((value, at) =>
    `${300 - ((values.length - 1 - at) / width) * 300},${62 - (value / top) * 60}`).join(" "))
  svg.append(line)
  return svg
}

// Remembers the last five minutes of a number.
export class History {
  values = []

  add(value) {
    this.values.push(value)
    this.values.splice(0, this.values.length - 300)
  }
}
