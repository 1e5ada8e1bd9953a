import { afterEach, beforeEach, expect, test } from 'vitest';
import { secrets } from '#api/groups/core/v1/index.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { type Decision, DecisionLog } from '#scheduler/decisions.ts';
import { RecordReader } from './reader.ts';
import { encodeDecisions, RECORD_NAME, RECORD_NAMESPACE } from './record.ts';
import { recordDecisions } from './writer.ts';

const decision = (pod: string, message = ''): Omit<Decision, 'timeMs'> => ({
  profile: 'default-scheduler',
  namespace: 'default',
  pod,
  uid: pod,
  node: 'n1',
  message,
  nominatedNode: '',
  evaluatedNodes: 1,
  feasibleNodes: 1,
  scores: [],
});

const server = serverPerTest();
let log: DecisionLog;
let running: AbortController;
beforeEach(async () => {
  log = new DecisionLog(server.clock);
  running = new AbortController();
});
afterEach(async () => {
  running.abort();
});

/** Starts the scheduler's side. Returns the number of requests that it has made. */
function startRecorder(configuration?: unknown): () => number {
  const client = server.clientOf({
    name: 'system:kube-scheduler',
    groups: ['system:authenticated'],
  });
  let requests = 0;
  const { request } = client.transport;
  client.transport.request = (...args) => {
    requests += 1;
    return request.apply(client.transport, args) as never;
  };
  void recordDecisions(
    { client, clock: server.clock, logger: silentLogger, decisions: log, configuration },
    running.signal,
  );
  return () => requests;
}

const newReader = (): RecordReader =>
  new RecordReader({
    client: () => server.client,
    clock: server.clock,
    random: new SeededRandom(1),
  });
const podsOf = async (reader: RecordReader): Promise<string[]> =>
  (await reader.decisions()).map(({ pod }) => pod);

test('decisions are recorded while a reader wants them, and no longer', async () => {
  await RecordReader.grant(server.client);
  await RecordReader.grant(server.client);
  const requests = startRecorder();
  log.add(decision('first'));
  await server.clock.advance('1h');
  const quiet = requests();
  expect(quiet).toBeLessThan(5);
  const reader = newReader();
  await reader.decisions();
  await server.clock.advance('1s');
  expect(await podsOf(reader)).toEqual(['first']);
  // From now on the scheduler keeps scores.
  expect(log.wantsScores).toBe(true);
  log.add(decision('second'));
  for (let seconds = 0; seconds < 60; seconds += 2) {
    await server.clock.advance('2s');
    await reader.decisions();
  }
  log.add(decision('third'));
  await server.clock.advance('3s');
  expect(await podsOf(newReader())).toEqual(['third', 'second', 'first']);
  await server.clock.advance('2m');
  expect(log.wantsScores).toBe(false);
  const before = requests();
  log.add(decision('unread'));
  await server.clock.advance('10m');
  expect(requests() - before).toBeLessThan(5);
});

test('a reader gets the configuration of the scheduler', async () => {
  await RecordReader.grant(server.client);
  startRecorder({ percentageOfNodesToScore: 50 });
  const reader = newReader();
  const asked = reader.configuration();
  await server.clock.advance('1s');
  expect(await asked).toEqual({ percentageOfNodesToScore: 50 });
});

test('a scheduler that does not answer is waited for once', async () => {
  const reader = newReader();
  const asked = reader.configuration();
  await server.clock.advance('4s');
  expect(await asked).toBeUndefined();
  expect(await reader.configuration()).toBeUndefined();
});

test('without permission the scheduler goes on, and records once it has it', async () => {
  startRecorder();
  log.add(decision('first'));
  const reader = newReader();
  await server.clock.advance('30s');
  expect(await podsOf(reader)).toEqual([]);
  await RecordReader.grant(server.client);
  await server.clock.advance('2m');
  await reader.decisions();
  await server.clock.advance('3s');
  expect(await podsOf(reader)).toEqual(['first']);
});

test('a record that another program has written has no decisions', async () => {
  const records = server.client.resource(secrets).namespace(RECORD_NAMESPACE);
  await records.create({ metadata: { name: RECORD_NAME }, stringData: { decisions: '{"a":' } });
  expect(await newReader().decisions()).toEqual([]);
  await records.patch(RECORD_NAME, 'application/merge-patch+json', {
    stringData: { decisions: '[1]' },
  });
  expect(await newReader().decisions()).toEqual([]);
});

test('a record is bounded: long messages are cut, and old decisions left out', () => {
  const many = Array.from({ length: 200 }, (_, n) => ({
    ...decision(`pod-${n}`, 'é'.repeat(100_000)),
    timeMs: n,
    scores: [{ node: 'n'.repeat(253), score: 1 }],
  }));
  const text = encodeDecisions(many);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(512 * 1024);
  const kept = JSON.parse(text) as Decision[];
  expect(kept.length).toBeGreaterThan(100);
  expect(kept[0]?.pod).toBe('pod-0');
  expect(encodeDecisions([])).toBe('[]');
});
