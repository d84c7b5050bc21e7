/** The requests of the service: their fields of InteractRequest and InteractResponse, and their unary methods. */

export const KINDS = {
  listEnvironments: { field: 1, method: "ListEnvironments" },
  make: { field: 2, method: "Make" },
  reset: { field: 3, method: "Reset" },
  step: { field: 4, method: "Step" },
  render: { field: 5, method: "Render" },
  close: { field: 6, method: "Close" },
  getAttribute: { field: 7, method: "GetAttribute" },
  setAttribute: { field: 8, method: "SetAttribute" },
  callMethod: { field: 9, method: "CallMethod" },
  renewLease: { field: 10, method: "RenewLease" },
  getServerInfo: { field: 11, method: "GetServerInfo" },
  replay: { field: 12, method: "Replay" },
  saveState: { field: 13, method: "SaveState" },
  restoreState: { field: 14, method: "RestoreState" },
  getSessionStats: { field: 16, method: "GetSessionStats" },
} as const;

/** A request, or the answer to one. */
export type Kind = keyof typeof KINDS;

/** The field of InteractResponse that holds an ErrorStatus. */
export const ERROR_FIELD = 15;

export const SERVICE = "envwire.v1.EnvironmentService";

const BY_FIELD: (Kind | "error" | undefined)[] = [];
for (const [kind, { field }] of Object.entries(KINDS)) BY_FIELD[field] = kind as Kind;
BY_FIELD[ERROR_FIELD] = "error";

export function kindOf(field: number): Kind | "error" | undefined {
  return BY_FIELD[field];
}

export function fieldOf(kind: Kind | "error"): number {
  return kind === "error" ? ERROR_FIELD : KINDS[kind].field;
}
