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

// A number with its noun: 1 server, 2 servers.
export const counted = (number, noun) => `${count(number)} ${noun}${Math.round(number) === 1 ? "" : "s"}`

const SIZES = ["B", "kB", "MB", "GB", "TB"]

export function size(bytes) {
  const power = bytes < 1 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** power
  return `${value.toFixed(value < 10 && power ? 1 : 0)} ${SIZES[power]}`
}

// Processors: 1.25 are one and a quarter.
export const processors = (number) => number.toFixed(number < 10 ? 2 : 0)

// A button that copies a text, and says so for a moment.
export function copyButton(text, what) {
  const said = (word) => { button.textContent = word }
  const button = el("button", { class: "copy", "aria-label": `Copy ${what}`, title: `Copy ${what}`,
    onclick: async (event) => {
      event.stopPropagation()
      try {
        await navigator.clipboard.writeText(text)
        said("copied")
      } catch { // not allowed, or the page is not at localhost
        said("not allowed")
      }
      setTimeout(said, 1500, "copy")
    } }, "copy")
  return button
}

export const percent = (part) => `${Math.round(part * 100)} %`

export function duration(seconds) {
  if (seconds < 100) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`
  return `${(seconds / 3600).toFixed(1)} h`
}

// A bar of the parts of the time.
const PARTS = { agent: "agent and network", environment: "environment", codec: "codec and other requests" }

export function shareBar(shares) {
  const bar = el("div", { class: "shares" }, Object.keys(PARTS).map((name) => el("span", { class: name })))
  fillShares(bar, shares)
  return bar
}

// Shows other parts in a bar.
export function fillShares(bar, shares) {
  Object.keys(PARTS).forEach((name, at) => {
    const title = `${PARTS[name]}: ${percent(shares[name] ?? 0)}`
    if (bar.children[at].title === title) return
    bar.children[at].title = title
    bar.children[at].style.width = `${(shares[name] ?? 0) * 100}%`
  })
}

export const legend = (shares) =>
  el("div", { class: "legend" },
    Object.entries(PARTS).map(([name, text]) =>
      el("span", {}, el("i", { class: name }), `${text} ${percent(shares[name] ?? 0)}`)))

const rounded = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 })

export const number = (value) => rounded.format(value)

const SVG = "http://www.w3.org/2000/svg"

const MOST_NARROW = 30
const MOST_BARS = 16

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

// A bar for each value; those below 0 hang from the line of 0.
export function bars(values, label) {
  const svg = document.createElementNS(SVG, "svg")
  const top = Math.max(0, ...values.map(({ value }) => value))
  const span = top - Math.min(0, ...values.map(({ value }) => value)) || 1
  svg.setAttribute("class", "chart")
  svg.setAttribute("viewBox", "0 0 300 64")
  svg.setAttribute("preserveAspectRatio", "none")
  svg.setAttribute("role", "img")
  svg.setAttribute("aria-label", label)
  const width = 300 / Math.max(MOST_BARS, values.length)
  values.forEach(({ value, title }, at) => {
    const bar = document.createElementNS(SVG, "rect")
    const told = document.createElementNS(SVG, "title")
    const height = Math.max(1, (Math.abs(value) / span) * 62)
    told.textContent = title
    bar.setAttribute("x", at * width + 1)
    bar.setAttribute("width", width - 2)
    bar.setAttribute("y", 1 + (Math.max(top, 0) / span) * 62 - (value > 0 ? height : 0))
    bar.setAttribute("height", height)
    bar.append(told)
    svg.append(bar)
  })
  return svg
}

// Remembers the last five minutes of a number.
export class History {
  values = []

  add(value) {
    this.values.push(value)
    this.values.splice(0, this.values.length - 300)
  }

  // What was before the page was opened.
  begin(values) {
    this.values = values
  }
}
