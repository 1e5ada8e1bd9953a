// Measures the engine on one member of etcd, beside other clients of the same member: etcd's own
// benchmark, which is written in Go, and bare transactions over the engine's kind of connection. All
// have as many writers on one connection, keys and values of the same size, and as many requests, in
// turns. A write with a condition is a transaction, which costs etcd more than a put. Rates follow the
// load of the machine; the processor time of etcd, and of this process, says what a write costs.

import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { EtcdConnection } from '#storage/etcd/connection.ts';
import { openEtcdStorage } from '#storage/etcd/index.ts';
import { ETCD_HINT, hasEtcd, startEtcd } from '#storage/etcd/testing/etcd-process.ts';
import { threadsMs } from '../process-usage.ts';
import { heading, median, note, quantile, show } from '../report.ts';

const WRITERS = 64;
const VALUE_BYTES = 1024;
const REQUESTS = 4000;
const ROUNDS = 3;

const MODULE_DIR = fileURLToPath(new URL('etcd-benchmark', import.meta.url));
const CACHE_DIR = fileURLToPath(new URL('../../.cache/etcd-benchmark', import.meta.url));

type Rates = Pick<Round, 'perSecond' | 'p50Ms' | 'p99Ms'>;

interface Round {
  /** Processor time of etcd for a request, in µs. NaN on a system without /proc. */
  readonly etcdMicros: number;
  /** Processor time of this process for a request, in µs. */
  readonly ownMicros: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export async function etcd(): Promise<void> {
  heading(
    `etcd: ${WRITERS} writers of ${VALUE_BYTES / 1024} KB on one connection, one member on this machine`,
  );
  if (!hasEtcd()) {
    note(ETCD_HINT);
    return;
  }
  const program = benchmark();
  let serial = 0;
  const member = await startEtcd();
  const base = { clock: systemClock, logger: silentLogger, endpoints: [member.endpoint] };
  const connection = new EtcdConnection(base);
  const storage = await openEtcdStorage({ ...base, random: systemRandom, compactionIntervalMs: 0 });
  // Objects are JSON.
  const value = Buffer.alloc(VALUE_BYTES, 'x');
  value.write('{"data":"');
  value.write('"}', VALUE_BYTES - 2);
  const key = (name: string, serial: number): string =>
    `/registry/${name}/default/object-${String(serial).padStart(9, '0')}`;
  const createsRound = (): Promise<Rates> =>
    round((serial) => storage.create(key('made', serial), value));
  const bareRound = (): Promise<Rates> =>
    round((serial) => {
      const put = { key: new TextEncoder().encode(key('bare', serial)), value };
      return connection.send('KV.Txn', { compare: [], success: [{ put }], failure: [] });
    });
  try {
    const creates: Round[] = [];
    const bare: Round[] = [];
    const puts: Round[] = [];
    const transactions: Round[] = [];
    const measured = async (run: () => Promise<Rates>): Promise<Round> => {
      const etcdBefore = threadsMs(member.pid);
      const ownBefore = process.cpuUsage();
      const rates = await run();
      const { user, system } = process.cpuUsage(ownBefore);
      return {
        ...rates,
        etcdMicros: (1000 * (threadsMs(member.pid) - etcdBefore)) / REQUESTS,
        ownMicros: (user + system) / REQUESTS,
      };
    };
    // The first round warms up.
    for (let i = 0; i <= ROUNDS; i++) {
      creates.push(await measured(createsRound));
      bare.push(await measured(bareRound));
      if (program === undefined) continue;
      const of = (kind: 'put' | 'txn-put'): Promise<Round> =>
        measured(() => benchmarkRound(program, kind, member.endpoint, key('gone', 0).length));
      puts.push(await of('put'));
      transactions.push(await of('txn-put'));
    }
    const of = (rounds: readonly Round[], figure: keyof Round): number[] =>
      rounds.slice(1).map((each) => each[figure]);
    const print = (what: string, rounds: readonly Round[]): void => {
      show({ what, unit: '/s', values: of(rounds, 'perSecond') });
      show({ what: '  p50', unit: 'ms', values: of(rounds, 'p50Ms') });
      show({ what: '  p99', unit: 'ms', values: of(rounds, 'p99Ms') });
      show({ what: '  processor time of etcd', unit: 'µs', values: of(rounds, 'etcdMicros') });
    };
    const printOwn = (rounds: readonly Round[]): void =>
      show({ what: '  of this process', unit: 'µs', values: of(rounds, 'ownMicros') });
    print('creates', creates);
    printOwn(creates);
    print('transactions of one put over the same connection', bare);
    printOwn(bare);
    if (program !== undefined) {
      print("transactions of etcd's own benchmark", transactions);
      print('its puts, which have no condition', puts);
    }
    const share = (rounds: readonly Round[]): string =>
      `${((100 * median(of(creates, 'perSecond'))) / median(of(rounds, 'perSecond'))).toFixed(0)} %`;
    note(
      `creates reach ${share(bare)} of bare transactions` +
        (program === undefined
          ? ''
          : `, ${share(transactions)} of the benchmark's, and ${share(puts)} of its puts`),
    );
  } finally {
    await storage.close();
    connection.close();
    await member.stop();
  }

  async function round(write: (serial: number) => Promise<unknown>): Promise<Rates> {
    const times: number[] = [];
    let left = REQUESTS;
    const began = systemClock.monotonic();
    const writer = async (): Promise<void> => {
      while (left-- > 0) {
        const called = systemClock.monotonic();
        await write(serial++);
        times.push(systemClock.monotonic() - called);
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
    const seconds = (systemClock.monotonic() - began) / 1000;
    return {
      perSecond: REQUESTS / seconds,
      p50Ms: quantile(times, 0.5),
      p99Ms: quantile(times, 0.99),
    };
  }
}

/**
 * Returns the path of the program, and builds it if needed. Returns undefined after printing why,
 * if it cannot be built.
 */
function benchmark(): string | undefined {
  const version = /^require go\.etcd\.io\/etcd\/v3 (v\S+)$/m.exec(
    readFileSync(join(MODULE_DIR, 'go.mod'), 'utf8'),
  )?.[1];
  if (version === undefined)
    throw new Error(`${MODULE_DIR}/go.mod does not require go.etcd.io/etcd/v3`);
  const program = join(CACHE_DIR, version, 'benchmark');
  if (existsSync(program)) return program;
  if (spawnSync('go', ['version']).error !== undefined) {
    note(
      "etcd's own benchmark is left out: it is built with Go, and there is none here (https://go.dev/dl)",
    );
    return undefined;
  }
  note(`building etcd's own benchmark ${version}, once …`);
  mkdirSync(join(CACHE_DIR, version), { recursive: true });
  // The file has another name until it is complete.
  const partial = `${program}.partial`;
  const args = [
    'build',
    '-p',
    '1',
    '-ldflags',
    '-s -w',
    '-o',
    partial,
    'go.etcd.io/etcd/v3/tools/benchmark',
  ];
  const { status, stderr } = spawnSync('go', args, { cwd: MODULE_DIR, encoding: 'utf8' });
  if (status !== 0) {
    note(
      `etcd's own benchmark is left out, it cannot be built: ${stderr.trim().split('\n').at(-1)}`,
    );
    return undefined;
  }
  renameSync(partial, program);
  return program;
}

async function benchmarkRound(
  program: string,
  kind: 'put' | 'txn-put',
  endpoint: string,
  keyBytes: number,
): Promise<Rates> {
  const load = ['--conns', '1', '--clients', String(WRITERS), '--total', String(REQUESTS)];
  const sizes = ['--key-size', String(keyBytes), '--val-size', String(VALUE_BYTES)];
  const keys = ['--key-space-size', String(REQUESTS)].concat(
    kind === 'put' ? ['--sequential-keys'] : [],
  );
  const args = [kind, '--endpoints', new URL(endpoint).host].concat(load, sizes, keys);
  const { stdout } = await promisify(execFile)(program, args);
  const figure = (pattern: RegExp): number => {
    const text = pattern.exec(stdout)?.[1];
    if (text === undefined)
      throw new Error(
        `etcd's benchmark says something else than expected: ${stdout.slice(0, 500)}`,
      );
    return Number(text);
  };
  return {
    perSecond: figure(/Requests\/sec:\s+([\d.]+)/),
    p50Ms: 1000 * figure(/50% in ([\d.]+) secs/),
    p99Ms: 1000 * figure(/99% in ([\d.]+) secs/),
  };
}
