// Sends the same questions to this DNS server and to CoreDNS, both in front of one API server, and
// prints where their answers differ.
//
//   tsx test/differential/dns/main.ts [COREDNS]   the path of a CoreDNS binary; default: one is built
//
// EXPECTED lists the intended differences, each with its reason. The order of records, and the
// choice of records when there are too many, are no difference.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decode, encode, type Answer, type DecodedPacket } from 'dns-packet';
import { startCluster } from '#cluster/index.ts';
import { DnsServer, nodeSockets } from '#dns/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { ensureCoredns } from '../../conformance/binaries.ts';
import { OBJECTS } from './objects.ts';
import { QUESTIONS, type Question } from './questions.ts';

const coredns = process.argv[2] ?? ensureCoredns((text) => console.error(text));

const dir = mkdtempSync(join(tmpdir(), 'dns-differential-'));
const cluster = await startCluster({
  nodes: 0,
  port: 0,
  serviceCidr: '10.96.0.0/16,fd00:96::/112',
  controllers: ['*', '-endpointslice', '-endpoints', '-endpointslicemirroring'],
});
await cluster.apply(OBJECTS);
writeFileSync(join(dir, 'kubeconfig'), cluster.kubeconfig as string);

/** A name server outside of the cluster, which both servers forward to. */
const outside = await nodeSockets.listenUdp({ address: '127.0.0.1', port: 0 }, (message, from) => {
  const query = decode(message);
  const [question] = query.questions ?? [];
  if (question === undefined) return;
  const name = question.name.toLowerCase();
  const records: Record<string, Answer[]> = {
    'www.example.test A': [{ name: question.name, type: 'A', ttl: 20, data: '192.0.2.80' }],
    'alias.example.test A': [
      { name: question.name, type: 'CNAME', ttl: 20, data: 'www.example.test' },
      { name: 'www.example.test', type: 'A', ttl: 20, data: '192.0.2.80' },
    ],
    'empty.example.test TXT': [
      { name: question.name, type: 'TXT', ttl: 20, data: ['hello', 'world'] },
    ],
  };
  const answers = records[`${name} ${question.type}`] ?? [];
  const exists = /^(www|alias|empty)\.example\.test$/.test(name);
  const flags = 0x0180 | (exists ? 0 : 3);
  const authorities: Answer[] =
    answers.length > 0
      ? []
      : [
          {
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
          },
        ];
  outside.send(
    encode({ type: 'response', id: query.id, flags, questions: [question], answers, authorities }),
    from,
  );
});

const PORT = 5391;
writeFileSync(
  join(dir, 'Corefile'),
  `.:${PORT} {
    bind 127.0.0.1
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       kubeconfig ${join(dir, 'kubeconfig')}
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 5
    }
    forward . 127.0.0.1:${outside.port} {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    loadbalance
}
`,
);
const reference = spawn(coredns, ['-conf', join(dir, 'Corefile')], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
const ours = new DnsServer({
  client: cluster.client,
  sockets: { ...nodeSockets, readResolvConf: async () => '' },
  clock: systemClock,
  random: systemRandom,
  logger: createLogger({ level: 'warn' }),
  listen: [{ address: '127.0.0.1', port: 0 }],
  allowedClients: ['127.0.0.0/8'],
});
await ours.start();
await cluster.apply({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'cluster-dns', namespace: 'kube-system' },
  data: { upstreamNameservers: JSON.stringify([`127.0.0.1:${outside.port}`]) },
});

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

async function ask(port: number, question: Question): Promise<string> {
  const ask = question.tcp === true ? nodeSockets.askTcp : nodeSockets.askUdp;
  try {
    const answer = await ask(
      { address: '127.0.0.1', port },
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

await wait.poll({ clock: systemClock, intervalMs: 100, timeoutMs: 20_000 }, async () => {
  const answer = await ask(PORT, { name: 'web.shop.svc.cluster.local', type: 'A' });
  return answer.startsWith('NOERROR');
});

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
    reason: 'the cache lowers the TTL of each record to that of the alias',
    covers: ({ name, type }, ours, theirs) =>
      name.startsWith('alias-outside') && type === 'A' && ours.replace(' 20 A', ' 5 A') === theirs,
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
const expected = new Map<string, number>();
const port = ours.addresses[0]?.port ?? 0;
for (const question of QUESTIONS) {
  const [a, b] = [await ask(port, question), await ask(PORT, question)];
  if (a === b) continue;
  const reason = EXPECTED.find(({ covers }) => covers(question, a, b))?.reason;
  if (reason !== undefined) {
    expected.set(reason, (expected.get(reason) ?? 0) + 1);
    continue;
  }
  differences++;
  process.stdout.write(`--- ${JSON.stringify(question)}\nours:\n${a}\nCoreDNS:\n${b}\n`);
}
for (const [reason, count] of expected)
  process.stdout.write(`expected, ${count} times: ${reason}\n`);
process.stdout.write(`${QUESTIONS.length} questions, ${differences} differences\n`);
reference.kill();
await ours.stop();
await outside.close();
await cluster.stop();
rmSync(dir, { recursive: true });
process.exit(differences === 0 ? 0 : 1);
