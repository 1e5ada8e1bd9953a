import { afterEach, beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger, type RecordingLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { DnsConfiguration } from '../../configuration.ts';
import { MemoryFiles } from '../../testing/memory-files.ts';
import { FollowedCorefile } from './follow.ts';

const PATH = '/etc/coredns/Corefile';

let clock: VirtualClock;
let files: MemoryFiles;
let logger: RecordingLogger;
let used: DnsConfiguration[];
let invalid: number;
let followed: FollowedCorefile;

beforeEach(() => {
  clock = new VirtualClock();
  files = new MemoryFiles();
  logger = recordingLogger();
  used = [];
  invalid = 0;
});
afterEach(() => followed.stop());

async function follow(text: string): Promise<void> {
  files.texts.set(PATH, text);
  const random = new SeededRandom('corefile');
  followed = await FollowedCorefile.load({ path: PATH, files, env: {}, clock, random, logger });
  followed.follow(
    (configuration) => void used.push(configuration),
    () => void invalid++,
  );
}

const zones = (): readonly string[] => used.at(-1)?.blocks.map(({ zone }) => zone.join('.')) ?? [];

test('a changed file is used, after the interval and its jitter', async () => {
  await follow('. {\n reload 10s 2s\n}\n');
  files.texts.set(PATH, '. {\n reload 10s 2s\n}\na.test {\n}\n');
  await clock.advance(8000);
  expect(used).toHaveLength(0);
  await clock.advance(4000);
  expect(zones()).toEqual(['a.test', '']);
  files.texts.set(PATH, '. {\n reload 10s 2s\n}\nb.test {\n}\n');
  await clock.advance(12_000);
  expect(zones()).toEqual(['b.test', '']);
  await clock.advance('1h');
  expect(used).toHaveLength(2);
});

test('without reload, a changed file is not noticed', async () => {
  await follow('. {\n log\n}\n');
  files.texts.set(PATH, 'a.test {\n}\n');
  await clock.advance('1h');
  expect(used).toHaveLength(0);
});

test('a file that cannot be used is reported once, and the one before stays', async () => {
  await follow('. {\n reload\n}\n');
  files.texts.set(PATH, '. {\n reload\n nonsense\n}\n');
  await clock.advance('10m');
  expect([used.length, invalid]).toEqual([0, 1]);
  expect(logger.records.at(-1)?.values['reason']).toContain(`${PATH}:3: the directive "nonsense"`);
  files.texts.delete(PATH);
  await clock.advance('10m');
  expect(invalid).toBe(2);
  files.texts.set(PATH, '. {\n reload\n}\nc.test {\n}\n');
  await clock.advance('1m');
  expect(zones()).toEqual(['c.test', '']);
});

test('another port needs a restart', async () => {
  await follow('. {\n reload\n}\n');
  files.texts.set(PATH, '.:54 {\n reload\n}\n');
  await clock.advance('1m');
  expect([used.length, invalid]).toEqual([0, 1]);
  expect(logger.records.at(-1)?.values['reason']).toContain('restart it');
});

test('imported files are followed, and new ones are found', async () => {
  await follow('. {\n reload\n import zones/*\n}\nimport servers/*\n');
  files.texts.set('/etc/coredns/servers/a', 'a.test {\n}\n');
  await clock.advance('1m');
  expect(zones()).toEqual(['a.test', '']);
  files.texts.set('/etc/coredns/servers/a', 'b.test {\n}\n');
  await clock.advance('1m');
  expect(zones()).toEqual(['b.test', '']);
});

test('hosts are read again by an interval of their own; the Corefile is not', async () => {
  files.texts.set('/hosts', '192.0.2.1 a');
  await follow('. {\n hosts /hosts {\n reload 15s\n }\n import more/*\n}\n');
  files.texts.set(PATH, 'nonsense');
  files.texts.set('/etc/coredns/more/x', 'nonsense');
  files.texts.set('/hosts', '192.0.2.1 b');
  await clock.advance(15_000);
  const [source] = used.at(-1)?.blocks[0]?.sources ?? [];
  expect(source?.kind === 'hosts' && [...source.hosts.addresses.keys()]).toEqual(['b.']);
  files.texts.delete('/hosts');
  await clock.advance(15_000);
  const [after] = used.at(-1)?.blocks[0]?.sources ?? [];
  expect(after?.kind === 'hosts' && after.hosts.addresses.size).toBe(0);
  expect(invalid).toBe(0);
});
