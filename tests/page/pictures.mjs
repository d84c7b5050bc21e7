// Takes the pictures of README and docs: each view, in light and in dark.

import { onPage } from "./browser.mjs"

const [address, directory] = process.argv.slice(2)

await onPage(address, async (page) => {
  const take = (name) => page.screenshot({ path: `${directory}/${name}.png` })
  await page.waitForFunction(() => document.querySelectorAll(".server.free").length === 4)
  await page.waitForFunction(() => document.querySelector("polyline").getAttribute("points").split(" ").length > 20)
  await page.setViewportSize({ width: 1200, height: 510 })
  await take("page-farm")
  await page.keyboard.press("2")
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length > 10)
  await take("page-sessions")
  await page.setViewportSize({ width: 1200, height: 760 })
  await page.emulateMedia({ colorScheme: "dark" })
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("Enter")
  await page.waitForSelector(".last img")
  await page.waitForFunction(() => document.querySelector("polyline").getAttribute("points").split(" ").length > 8)
  await take("page-session")
  await page.keyboard.press("3")
  await page.waitForFunction(() => document.querySelectorAll(".tile img").length === 12)
  await take("page-wall")
})
