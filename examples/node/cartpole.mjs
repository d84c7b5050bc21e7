// Drives CartPole with only the .proto files, by unary calls and then by the stream.
// Usage: node cartpole.mjs HOST:PORT
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';

const STEPS = 200;
const SEED = 7;
const TIMEOUT_MS = 30_000;

// --8<-- [start:contract]
const definition = protoLoader.loadSync('envwire/v1/environment.proto', {
  includeDirs: [fileURLToPath(new URL('../../protos', import.meta.url))],
  keepCase: true, // otherwise fields are renamed, and `session_id: ...` is dropped without a word
  longs: Number, // lengths and counters are small here; use String where an int64 may exceed 2^53
  enums: String, // bytes stay Buffers
  defaults: true, // proto3 leaves out zeros, false and empty lists
  oneofs: true, // `answer.response` names the field that is set
});
const { EnvironmentService, ErrorInfo, ErrorStatus } = grpc.loadPackageDefinition(definition).envwire.v1;
// --8<-- [end:contract]

// --- Two transports. Both have call(kind, request) => Promise of the response.

/**
 * One unary call for each request: call('list_environments', {}) is the RPC ListEnvironments.
 * An environment that gets no request for the duration of its lease is closed; RenewLease keeps it.
 */
function openUnary(client) {
  const call = (kind, request) =>
    new Promise((resolve, reject) => {
      const method = kind.replace(/(^|_)([a-z])/g, (_, __, letter) => letter.toUpperCase());
      client[method](request, { deadline: Date.now() + TIMEOUT_MS }, (error, response) =>
        error ? reject(errorFromTrailers(error)) : resolve(response),
      );
    });
  return { call, end: () => {} };
}

// --8<-- [start:stream]
/** The stream: each request gets one answer, in order. An open stream keeps the leases. */
function openStream(client) {
  const stream = client.Interact(); // no deadline: it would end a stream that is well
  const waiting = [];
  stream.on('data', (answer) => {
    const { resolve, reject } = waiting.shift();
    if (answer.response === 'error') reject(errorFromStatus(answer.error)); // the stream goes on
    else resolve(answer[answer.response]);
  });
  stream.on('error', (error) => waiting.splice(0).forEach(({ reject }) => reject(error)));
  const call = (kind, request) =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      stream.write({ [kind]: request });
    });
  return { call, end: () => stream.end() };
}
// --8<-- [end:stream]

// --- Errors: a google.rpc.Status, in the trailers of a unary call and as an answer on the stream.

function errorFromTrailers(error) {
  const [packed] = error.metadata?.get('grpc-status-details-bin') ?? [];
  return packed ? errorFromStatus(ErrorStatus.deserialize(packed)) : error;
}

// --8<-- [start:error]
function errorFromStatus({ code, message, details }) {
  const info = details.find(({ type_url }) => type_url.endsWith('/google.rpc.ErrorInfo'));
  const { reason } = ErrorInfo.deserialize(info.value);
  return Object.assign(new Error(message), { code: grpc.status[code], reason });
}
// --8<-- [end:error]

// --- Arrays: packed little-endian bytes, an element type and a shape.

// --8<-- [start:array]
const ARRAYS = {
  DATA_TYPE_UINT8: Uint8Array,
  DATA_TYPE_FLOAT32: Float32Array,
  DATA_TYPE_FLOAT64: Float64Array,
};

function decodeTensor({ data_type, shape, data }) {
  const bytes = Uint8Array.from(data); // a copy, so that the elements are aligned
  return { shape, values: new ARRAYS[data_type](bytes.buffer) };
}
// --8<-- [end:array]

// --- The conversation.

async function drive(call) {
  const { environments } = await call('list_environments', {});
  console.log('  serves', environments.map(({ library, spec }) => `${spec.id} of ${library}`).join(', '));

  // --8<-- [start:episode]
  const made = await call('make', { env_id: 'CartPole-v1', render_mode: 'rgb_array' });
  const header = { session_id: made.session_id, secret: made.secret };
  let sequence = 0; // every request of a session is numbered; one that got no answer may be repeated
  const ask = (kind, request = {}) => call(kind, { header, sequence: ++sequence, ...request });
  console.log(`  made ${made.spec.id} of ${made.library}: ${made.action_space.discrete.n} actions`);

  let { observation } = await ask('reset', { seed: { int_value: SEED } });
  const returns = [0];
  const path = [];
  for (let step = 0; step < STEPS; step++) {
    const [, , angle] = decodeTensor(observation.array).values;
    const answer = await ask('step', { action: { int_value: angle > 0 ? 1 : 0 } });
    observation = answer.observation;
    path.push(...decodeTensor(observation.array).values);
    returns[returns.length - 1] += answer.reward;
    if (answer.terminated || answer.truncated) {
      ({ observation } = await ask('reset'));
      returns.push(0);
    }
  }
  // --8<-- [end:episode]
  console.log(`  ${STEPS} steps, returns ${returns.join(', ')}`);

  const { frame } = await ask('render');
  const { shape, values } = decodeTensor(frame.array);
  assert.equal(values.length, shape.reduce((product, length) => product * length, 1));
  console.log(`  frame of ${shape.join(' x ')}`);

  const refusals = [
    ['make', { env_id: 'CartPol-v1' }, 'UNKNOWN_ENVIRONMENT'],
    ['render', { header: { ...header, secret: Buffer.from('guess') }, sequence: sequence + 1 }, 'WRONG_SECRET'],
  ];
  for (const [kind, request, reason] of refusals) {
    await assert.rejects(call(kind, request), (error) => {
      console.log(`  refused: ${error.code} ${error.reason}: ${error.message}`);
      return error.reason === reason;
    });
  }

  await ask('close');
  return path;
}

const [target] = process.argv.slice(2);
if (!target) {
  console.error('usage: node cartpole.mjs HOST:PORT');
  process.exit(2);
}
const client = new EnvironmentService(target, grpc.credentials.createInsecure());
const paths = [];
for (const [name, open] of Object.entries({ 'unary calls': openUnary, 'the stream': openStream })) {
  console.log(name);
  const { call, end } = open(client);
  paths.push(await drive(call));
  end();
}
client.getChannel().close(); // client.close is the RPC of that name
assert.deepEqual(paths[0], paths[1], 'the same seed and actions must lead to the same observations');
console.log('both saw the same observations');
