// `npm run differential`: the same requests to two API servers, and where their answers differ. README.md beside this has the flags.

import { apiVersionOf } from '#api/machinery/scheme.ts';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { send } from '#apiserver/testing/requests.ts';
import { systemClock } from '#machinery/clock.ts';
import { SeededRandom, systemRandom } from '#machinery/random.ts';
import { kindManifests } from '../e2e/kinds.ts';
import { differences, parsed, type Answer } from './compare.ts';
import { askUpstream } from './custom-resources.ts';
import { Reference } from './reference.ts';
import { requests } from './requests.ts';
import { samples } from './samples.ts';
import { metricDifferences } from './metrics.ts';
import { wireDifferences, wireShots, type WireAnswer, type WireShot } from './wire.ts';
import { creation, shots, targetOf, type Shot, type Target } from './shots.ts';
import { ADMIN, startTestServer } from '#apiserver/testing/server.ts';

const { values: flags } = parseArgs({
  options: {
    reference: { type: 'string' },
    token: { type: 'string', default: '' },
    kinds: { type: 'string' },
    count: { type: 'string', default: '200' },
    seed: { type: 'string', default: 'differential' },
    verbose: { type: 'boolean', default: false },
    'record-custom-resources': { type: 'string' },
  },
});
if (flags.reference === undefined) {
  console.error('differential: --reference URL is needed: an API server to compare with, such as https://127.0.0.1:6443');
  process.exit(2);
}
const only = flags.kinds?.split(',');
const reference = new Reference(flags.reference, flags.token);
const server = await startTestServer({
  clock: systemClock,
  serviceCidr: '10.96.0.0/16',
  disableAdmissionPlugins: ['ServiceAccount'],
  flags: {},
  serviceAccounts: {
    signingKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  },
});

async function ask({ method, path, type, body, accept = 'application/json' }: Shot): Promise<Answer> {
  const headers = { accept, 'user-agent': 'differential', ...(body !== '' && { 'content-type': type }) };
  const user = { ...ADMIN, uid: 'admin' };
  const answer = await send(server.server, { method, path, headers, body, user });
  return { code: answer.code, body: parsed(answer.text), warnings: answer.warnings };
}

async function askWire({ method, path, headers, body }: WireShot): Promise<WireAnswer> {
  const user = { ...ADMIN, uid: 'admin' };
  return send(server.server, {
    method,
    path,
    headers: { 'user-agent': 'differential', ...headers },
    body: body ?? '',
    user,
    random: systemRandom,
  });
}

let sent = 0;
let different = 0;
try {
  if (only === undefined || only.includes('custom-resources')) {
    const recorded = await askUpstream(reference, (text) => {
      different++;
      console.log(text);
    });
    sent += Object.keys(recorded.answers).length;
    const file = flags['record-custom-resources'];
    if (file !== undefined) writeFileSync(file, `${JSON.stringify(recorded, undefined, 1)}\n`);
  }
  if (only === undefined || only.includes('wire')) {
    for (const shot of wireShots) {
      sent++;
      const found = wireDifferences(shot, await askWire(shot), await reference.wire(shot));
      if (found.length === 0) continue;
      different++;
      console.log(`${shot.method ?? 'GET'} ${shot.path} ${JSON.stringify(shot.headers ?? {})}`);
      for (const line of found) console.log(`    ${line.slice(0, 700)}`);
    }
    const metrics = metricDifferences(
      (await askWire({ path: '/metrics' })).text,
      (await reference.wire({ path: '/metrics' })).text,
    );
    for (const line of metrics) console.log(`/metrics: ${line}`);
    different += metrics.length;
  }
  if (only === undefined || only.includes('requests')) {
    for (const shot of requests) report(shot, ...(await Promise.all([ask(shot), reference.send(shot)])));
  }
  const kinds = server.server.catalog.snapshot().publishedKinds();
  for (const sample of [...samples, ...kindManifests]) {
    const served = kinds.find(
      ({ type }) => type.kind === sample.kind && (sample.manifest['apiVersion'] as string) === apiVersionOf(type),
    );
    if (served === undefined || (only !== undefined && !only.includes(sample.kind))) continue;
    const target = targetOf(served, sample);
    await removeFrom(target);
    const made = await Promise.all([ask(creation(target)), reference.send(creation(target))]);
    report(creation(target), ...made);
    for (const shot of shots(target, Number(flags.count), new SeededRandom(`${flags.seed} ${sample.kind}`))) {
      report(shot, ...(await Promise.all([ask(shot), reference.send(shot)])));
    }
    await removeFrom(target);
  }
} finally {
  reference.close();
  await server.stop();
}
console.log(`${sent} requests, ${different} answered differently`);
process.exitCode = different > 0 ? 1 : 0;

/** No controllers run beside the reference, so nobody else works off finalizers. */
async function removeFrom({ collection, name, kind }: Target): Promise<void> {
  const path = `${collection}/${name}`;
  const steps: readonly Shot[] = [
    {
      method: 'DELETE',
      path: `${path}?gracePeriodSeconds=0&propagationPolicy=Background`,
      type: '',
      body: '',
      changes: [],
    },
    { method: 'PATCH', path, type: 'application/merge-patch+json', body: '{"metadata":{"finalizers":null}}', changes: [] },
    ...(kind === 'Namespace'
      ? [
          {
            method: 'PUT',
            path: `${path}/finalize`,
            type: 'application/json',
            body: JSON.stringify({ apiVersion: 'v1', kind, metadata: { name }, spec: { finalizers: [] } }),
            changes: [],
          },
        ]
      : []),
  ];
  for (const step of steps) await Promise.all([reference.send(step), ask(step)]);
}

function report(shot: Shot, ours: Answer, theirs: Answer): void {
  sent++;
  const found = differences(ours, theirs);
  if (found.length === 0) return;
  different++;
  console.log(`${shot.method} ${shot.path}: ${shot.changes.join('; ')}`);
  for (const line of found) console.log(`    ${line.slice(0, 700)}`);
  if (flags.verbose) console.log(`    ${shot.body}`);
}
