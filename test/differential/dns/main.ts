// Sends the same questions to this DNS server and to CoreDNS, both in front of one API server, and
// prints where their answers differ: once for the ConfigMap, and for each Corefile of corefiles.ts.
//
//   tsx test/differential/dns/main.ts [CASE [COREDNS]]     a case of corefiles.ts; the path of a CoreDNS
//                                                          binary (default: one is built of its module)
//
// EXPECTED lists the intended differences, each with its reason. The order of records, and the
// choice of records when there are too many, are no difference.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  decode,
  encode,
  type Answer,
  type DecodedPacket,
  type Question as DnsQuestion,
} from 'dns-packet';
import { startCluster } from '#cluster/index.ts';
import { DnsServer, FollowedCorefile, nodeFiles, nodeSockets } from '#dns/index.ts';
import type { UdpListener } from '#dns/system/sockets.ts';
import { systemClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { ensureCoredns } from '../../conformance/binaries.ts';
import { CONFIG_MAP_COREFILE, type CorefileCase, COREFILES, PORT } from './corefiles.ts';
import { OBJECTS } from './objects.ts';
import { QUESTIONS, type Question } from './questions.ts';

const [only, path] = process.argv.slice(2);
const coredns = path ?? ensureCoredns((text) => console.error(text));

/** Where the two servers listen. */
const [OURS, REFERENCE] = ['127.0.0.2', '127.0.0.1'];
/** A name that both know only when they have the records, if they have a cluster. */
const PROBE: Question = { name: 'web.shop.svc.cluster.local', type: 'A' };

const dir = mkdtempSync(join(tmpdir(), 'dns-differential-'));
const cluster = await startCluster({
  nodes: 0,
  port: 0,
  serviceCidr: '10.96.0.0/16,fd00:96::/112',
  controllers: ['*', '-endpointslice', '-endpoints', '-endpointslicemirroring'],
});
await cluster.apply(OBJECTS);
writeFileSync(join(dir, 'kubeconfig'), cluster.kubeconfig as string);

/** A name server outside of the cluster, which both servers forward to. `last`: of its addresses. */
const outsideServer = async (last: number): Promise<UdpListener> => {
  const at = { address: '127.0.0.1', port: 0 };
  const server = await nodeSockets.listenUdp(at, (message, from) => {
    const query = decode(message);
    const [question] = query.questions ?? [];
    if (question !== undefined) server.send(outsideAnswer(query.id, question, last), from);
  });
  return server;
};

function outsideAnswer(id: number | undefined, question: DnsQuestion, last: number): Buffer {
  const name = question.name.toLowerCase();
  const www = { name: 'www.example.test', type: 'A', ttl: 20, data: `192.0.2.${last}` } as const;
  const records: Record<string, Answer[]> = {
    'www.example.test A': [{ ...www, name: question.name }],
    'www.acme.test A': [{ ...www, name: question.name, ttl: 2 }],
    'alias.example.test A': [
      { name: question.name, type: 'CNAME', ttl: 20, data: 'www.example.test' },
      www,
    ],
    'empty.example.test TXT': [
      { name: question.name, type: 'TXT', ttl: 20, data: ['hello', 'world'] },
    ],
  };
  const answers = records[`${name} ${question.type}`] ?? [];
  const exists = /^(www|alias|empty)\.(example|acme)\.test$/.test(name);
  const soa: Answer = {
    name: 'example.test',
    type: 'SOA',
    ttl: 20,
    data: {
      mname: 'ns.example.test',
      rname: 'h.example.test',
      serial: 1,
      refresh: 1,
      retry: 1,
      expire: 1,
      minimum: 20,
    },
  };
  return encode({
    type: 'response',
    id,
    flags: 0x0180 | (exists ? 0 : 3),
    questions: [question],
    answers,
    authorities: answers.length > 0 ? [] : [soa],
  });
}

const [outside, stub] = [await outsideServer(80), await outsideServer(90)];

/** The servers of one comparison. */
interface Pair {
  readonly ours: DnsServer;
  readonly reference: ChildProcess;
}

const shared = {
  clock: systemClock,
  random: systemRandom,
  logger: createLogger({ level: 'warn' }),
};

const variables = (address: string): Record<string, string | undefined> => ({
  ...process.env,
  BIND: address,
  DIR: dir,
  KUBECONFIG: join(dir, 'kubeconfig'),
  OUTSIDE: `127.0.0.1:${outside.port}`,
  STUB: `127.0.0.1:${stub.port}`,
});

/** Starts CoreDNS with a Corefile at 127.0.0.1. */
function startReference(text: string): ChildProcess {
  writeFileSync(join(dir, 'Corefile'), text);
  return spawn(coredns, ['-conf', join(dir, 'Corefile')], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: variables('127.0.0.1'),
  });
}

/** Ours has the ConfigMap, CoreDNS the Corefile that means the same. */
async function startConfigMap(): Promise<Pair> {
  const reference = startReference(CONFIG_MAP_COREFILE);
  const ours = new DnsServer({
    ...shared,
    client: cluster.client,
    sockets: { ...nodeSockets, readResolvConf: async () => '' },
    listen: [{ address: OURS, port: PORT }],
    allowedClients: ['127.0.0.0/8'],
  });
  await ours.start();
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'cluster-dns', namespace: 'kube-system' },
    data: { upstreamNameservers: JSON.stringify([`127.0.0.1:${outside.port}`]) },
  });
  return { ours, reference };
}

/** Both have the same file. */
async function startCorefile({ text, files = {} }: CorefileCase): Promise<Pair> {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
  const reference = startReference(text);
  const corefile = await FollowedCorefile.load({
    ...shared,
    path: join(dir, 'Corefile'),
    files: nodeFiles,
    env: variables(OURS),
  });
  const ours = new DnsServer({
    ...shared,
    client: corefile.corefile.serving.hasCluster ? cluster.client : undefined,
    sockets: nodeSockets,
    corefile,
    listen: [{ address: OURS, port: PORT }],
    allowedClients: ['127.0.0.0/8'],
  });
  await ours.start();
  return { ours, reference };
}

function flagsOf(question: Question): Buffer {
  const additionals: Answer[] =
    question.udpSize === undefined
      ? []
      : [
          {
            name: '.',
            type: 'OPT',
            udpPayloadSize: question.udpSize,
            extendedRcode: 0,
            ednsVersion: 0,
            flags: question.dnssecOk === true ? 0x8000 : 0,
            flag_do: question.dnssecOk === true,
            options: [],
          },
        ];
  return encode({
    type: 'query',
    id: 4711,
    flags: 0x0100,
    questions: [{ name: question.name, type: question.type as 'A' }],
    additionals,
  });
}

async function ask(address: string, question: Question): Promise<string> {
  const ask = question.tcp === true ? nodeSockets.askTcp : nodeSockets.askUdp;
  try {
    const answer = await ask(
      { address, port: PORT },
      flagsOf(question),
      () => true,
      AbortSignal.timeout(4000),
    );
    return textOf(decode(answer));
  } catch (error) {
    return `no answer: ${(error as Error).message}`;
  }
}

/** Returns an answer as text: sections in their order, the records of each sorted. */
function textOf(packet: DecodedPacket & { rcode?: string }): string {
  const flags = ['flag_aa', 'flag_tc', 'flag_rd', 'flag_ra', 'flag_ad', 'flag_cd'].filter(
    (flag) => Reflect.get(packet, flag) === true,
  );
  const lines = [`${packet.rcode} ${flags.map((flag) => flag.slice(5)).join(' ')}`];
  for (const question of packet.questions ?? []) lines.push(`? ${question.name} ${question.type}`);
  if (Reflect.get(packet, 'flag_tc')) return [...lines, '(truncated)'].join('\n');
  for (const section of ['answers', 'authorities', 'additionals'] as const) {
    const records = (packet[section] ?? []).map((record) => {
      if (record.type === 'OPT') return `${section} OPT do=${String(record.flag_do)}`;
      const data =
        record.type === 'SOA'
          ? { ...(record as { data: object }).data, serial: 0 }
          : (record as { data: unknown }).data;
      return `${section} ${record.name} ${ttlOf(record)} ${record.type} ${JSON.stringify(data)}`;
    });
    lines.push(...records.sort());
  }
  return lines.join('\n');
}

/** Returns the TTL without the age of answers from outside, which each server caches by itself. */
function ttlOf(record: Answer): number {
  const { ttl = 0 } = record as { ttl?: number };
  return record.name.toLowerCase().endsWith('example.test') && ttl > 10 ? 20 : ttl;
}

const withoutTtls = (answer: string): string => answer.replaceAll(/ \d+ (A|CNAME) /g, ' $1 ');

/** Intended differences, with their reasons. */
const EXPECTED: readonly {
  readonly reason: string;
  readonly covers: (question: Question, ours: string, theirs: string) => boolean;
}[] = [
  {
    reason:
      'CoreDNS denies that a name exists (TXT), which clients may take for all names below ' +
      'it; here the name has no such record',
    covers: ({ type }, ours, theirs) =>
      type === 'TXT' &&
      ours.startsWith('NOERROR aa') &&
      !ours.includes('answers') &&
      theirs.startsWith('NXDOMAIN'),
  },
  {
    reason: 'the same for any type at ns.dns',
    covers: ({ name }, ours) => name === `ns.dns.cluster.local` && ours.startsWith('NOERROR'),
  },
  {
    reason: 'CoreDNS says of any name that it exists (SOA)',
    covers: ({ type }, ours, theirs) =>
      type === 'SOA' && ours.startsWith('NXDOMAIN') && theirs.startsWith('NOERROR aa'),
  },
  {
    reason: 'CoreDNS finds its own service by its address, which is not that of a pod here',
    covers: ({ type }) => type === 'NS',
  },
  {
    reason: 'the cache shortens the TTL of the version',
    covers: ({ name }) => name === 'dns-version.cluster.local',
  },
  {
    reason: 'the cache gives the alias and its target one TTL',
    covers: ({ name, type }, ours, theirs) =>
      name.startsWith('alias-outside') && type === 'A' && withoutTtls(ours) === withoutTtls(theirs),
  },
  {
    reason: 'CoreDNS does not follow an alias for TXT',
    covers: ({ name, type }) => name.startsWith('alias-outside') && type === 'TXT',
  },
  {
    reason: 'CoreDNS marks what its cache has as authoritative, and does not preserve its case',
    covers: (_question, ours, theirs) =>
      ours.toLowerCase() === theirs.replace(' aa rd ra', ' rd ra').toLowerCase(),
  },
  {
    reason: 'the cache of CoreDNS does not preserve the case of a name',
    covers: ({ name }, ours, theirs) =>
      name !== name.toLowerCase() && ours.toLowerCase() === theirs.toLowerCase(),
  },
  {
    reason: 'no answer by UDP is larger than 1232 bytes here, whatever the client takes',
    covers: ({ udpSize }, ours) => udpSize === 4096 && ours.includes('(truncated)'),
  },
];

let differences = 0;
let asked = 0;
const expected = new Map<string, number>();

/** Sends the questions to both, and prints how their answers differ. */
async function compare(name: string, { ours, reference }: Pair, questions: readonly Question[]) {
  await ours.waitForSync(AbortSignal.timeout(20_000));
  // CoreDNS answers SERVFAIL until it has the records.
  await wait.poll({ clock: systemClock, intervalMs: 100, timeoutMs: 20_000 }, async () => {
    const [a, b] = [await ask(OURS, PROBE), await ask(REFERENCE, PROBE)];
    return a.split('\n')[0]?.split(' ')[0] === b.split('\n')[0]?.split(' ')[0];
  });
  for (const question of questions) {
    asked++;
    const [a, b] = [await ask(OURS, question), await ask(REFERENCE, question)];
    if (a === b) continue;
    const reason = EXPECTED.find(({ covers }) => covers(question, a, b))?.reason;
    if (reason !== undefined) {
      expected.set(reason, (expected.get(reason) ?? 0) + 1);
      continue;
    }
    differences++;
    process.stdout.write(`--- ${name}: ${JSON.stringify(question)}\nours:\n${a}\nCoreDNS:\n${b}\n`);
  }
  reference.kill();
  await Promise.all([once(reference, 'exit'), ours.stop()]);
}

if (only === undefined) await compare('ConfigMap', await startConfigMap(), QUESTIONS);
for (const each of COREFILES)
  if (only === undefined || each.name.includes(only))
    await compare(each.name, await startCorefile(each), each.questions);

for (const [reason, count] of expected)
  process.stdout.write(`expected, ${count} times: ${reason}\n`);
process.stdout.write(`${asked} questions, ${differences} differences\n`);
await Promise.all([outside.close(), stub.close()]);
await cluster.stop();
rmSync(dir, { recursive: true });
// A case that does not exist has no questions.
process.exit(differences === 0 && asked > 0 ? 0 : 1);
