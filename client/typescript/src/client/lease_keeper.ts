/** Renews the lease of a session that no connection holds: between unary calls, or after a channel broke. */

import { create, toBinary } from "@bufbuild/protobuf";
import { RenewLeaseRequestSchema } from "../gen/envwire/v1/environment_pb.js";
import type { Transport } from "../transports/transport.js";
import { LONGEST_TIMER } from "../transports/waiting.js";
import type { Driver } from "./driver.js";

/** Renewals per lease: two of them may get lost. */
const RENEWALS_PER_LEASE = 3;
const RENEWAL = toBinary(RenewLeaseRequestSchema, create(RenewLeaseRequestSchema));

export class LeaseKeeper {
  readonly #timer: NodeJS.Timeout;

  /** @param control Carries the renewals. */
  constructor(
    readonly driver: Driver,
    readonly control: Transport,
  ) {
    const { lease } = driver.session;
    const interval = Math.min((lease * 1000) / RENEWALS_PER_LEASE, LONGEST_TIMER);
    this.#timer = setInterval(() => this.#renew(interval), interval);
    this.#timer.unref(); // a program that has nothing else to do may end
  }

  #renew(interval: number): void {
    const { session, transport } = this.driver;
    if (session.ended) this.stop();
    else if (!transport.holdsLease) {
      const request = { kind: "renewLease", body: RENEWAL } as const;
      // A failed renewal is ignored: the next request reports the error.
      this.control.exchange(request, session.header, { timeout: interval }).catch(() => undefined);
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
