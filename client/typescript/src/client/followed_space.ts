/** A space of an environment, which a reset may change. */

import { fromBinary } from "@bufbuild/protobuf";
import { readAnswer } from "../errors.js";
import { SpaceSchema } from "../gen/envwire/v1/spaces_pb.js";
import { decodeSpace } from "../spaces/decoding.js";
import type { Space } from "../spaces/space.js";

export class FollowedSpace {
  present: Space;
  readonly #made: Space;
  #last: Uint8Array | undefined;

  /** @param made The space with which the environment was made. */
  constructor(made: Space) {
    this.present = this.#made = made;
  }

  /** Takes the space of the answer to a reset; absent for the one from the beginning. An equal one stays the object. */
  follow(space: Uint8Array | undefined): void {
    if (space === undefined) this.present = this.#made;
    else if (this.#last === undefined || Buffer.compare(space, this.#last) !== 0)
      this.present = readAnswer(() => decodeSpace(fromBinary(SpaceSchema, space)));
    this.#last = space?.slice();
  }
}
