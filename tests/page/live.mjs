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
  await page.waitForFunction(() => document.querySelector(".episodes")?.innerText.includes("mean return"))
  check(await page.locator("svg[aria-label^='Returns of'] rect").count() > 0, "each of the last episodes has a bar")
  await page.getByRole("button", { name: "end this session" }).click()
  await page.waitForFunction(() => document.querySelector("dl").innerText.includes("SESSION_CLOSED"))
  check(await page.locator(".last img").count() === 1, "the last picture stays")
  check((await page.innerText("pre")).includes("bold words"), "and the last output")
  check((await page.innerText(".episodes")).includes("mean return"), "and its episodes")
  await page.keyboard.press("2")
  await page.getByLabel("State").selectOption("ended")
  await page.waitForFunction(() => document.querySelector("tbody").innerText.includes("SESSION_CLOSED"))
  await page.locator("tr", { hasText: "SESSION_LOST" }).click()
  await page.waitForFunction(() => document.querySelector("pre")?.innerText.includes("last words"))
  const facts = await page.innerText("dl")
  check(/exit status\s+-6/.test(facts), `the status that its process ended with is told: ${facts}`)
  check((await page.innerText(".verdict")).includes("was killed by SIGABRT"), "and what that means")
  check((await page.innerText(".events")).includes("ended: SESSION_LOST"), "and when")
  await page.keyboard.press("1")
  await page.locator(".server.free").click()
  const told = page.waitForEvent("dialog", (dialog) => dialog.type() === "alert")
  await page.getByRole("button", { name: "drain" }).click()
  await told
  await page.evaluate(() => {}) // answered once the alert is closed: a key that is pressed while it opens is lost
  await page.keyboard.press("1")
  await page.waitForSelector(".server.unreachable")
})
