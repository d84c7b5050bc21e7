// Real servers: a session is watched, ended by an admin, and looked at afterwards.

import { check, onPage } from "./browser.mjs"

const [address] = process.argv.slice(2)

await onPage(address, async (page) => {
  await page.waitForSelector(".server")
  await page.keyboard.press("3")
  const tile = page.locator(".tile img").first()
  await tile.waitFor()
  const before = await tile.getAttribute("src")
  await page.waitForFunction((old) => document.querySelector(".tile img").src !== old, before)
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("Enter")
  await page.waitForSelector(".last img")
  await page.waitForFunction(() => document.querySelector("pre").innerText.includes("<b>bold words</b>"))
  check((await page.innerText(".events")).includes("made"), "the events are told")
  await page.getByRole("button", { name: "end this session" }).click()
  await page.waitForFunction(() => document.querySelector("dl").innerText.includes("SESSION_CLOSED"))
  check(await page.locator(".last img").count() === 1, "the last picture stays")
  check((await page.innerText("pre")).includes("bold words"), "and the last output")
  await page.keyboard.press("2")
  await page.getByLabel("State").selectOption("ended")
  await page.waitForFunction(() => document.querySelector("tbody").innerText.includes("SESSION_CLOSED"))
})
