// `npm run differential`: sends the same requests to two API servers, and reports the differences
// of their answers. The README beside this file describes the flags.

import { writeFileSync } from 'node:fs';
import { messageOf } from '#api/testing/message-of.ts';
import { randomCases } from '#api/machinery/codec/structural/testing/random.ts';
import { UserError } from '#cluster/user-error.ts';
import { fnv32a } from '#machinery/text/hash.ts';
import { systemClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { parseFlags } from '../../tools/flags.ts';
import { kindManifests } from '../e2e/kinds.ts';
import { differences, type Answer } from './compare.ts';
import { compareConversions } from './custom-conversions.ts';
import { compareCustomObjects } from './custom-objects.ts';
import { answersOf, askUpstream, askUpstreamForRules } from './custom-resources.ts';
import { definitionSteps } from './definitions.ts';
import { DEFINITIONS, GROUP, MERGE, remove } from './extension-requests.ts';
import { Ours } from './ours.ts';
import { Reference } from './reference.ts';
import { customObjectSteps } from './object-steps.ts';
import { difference, emptyPlaces, emptyShot, isRecorded, recordLine, WAYS } from './empties.ts';
import { requests } from './requests.ts';
import { samples } from './samples.ts';
import { compareSteps } from './steps.ts';
import { versionRequests } from './versions.ts';
import { metricDifferences } from './metrics.ts';
import { startUpstream, type Upstream } from './upstream.ts';
import { compareWebhooks, recordText } from './webhooks.ts';
import { wireDifferences, wireShots } from './wire.ts';
import { creation, removal, servedKind, shots, targetOf, type Shot, type Target } from './shots.ts';

const usage = `usage: npm run differential -- (--upstream | --reference URL --token TOKEN) [flags]
  --upstream                      compare with upstream's kube-apiserver, which is built with Go and started
  --reference URL                 an API server to compare with, such as https://127.0.0.1:6443
  --token TOKEN                   a token of an administrator of that server
  --kinds A,B                     only these kinds, or parts: wire, requests, empties, versions,
                                  custom-resources, definitions, custom-objects, webhooks, rules
  --count N                       requests for each kind (default 200)
  --seed TEXT                     the same text gives the same requests (default differential)
  --case TEXT                     only cases of webhooks whose names have this text
  --verbose                       print the body of each request whose answers differ
  --record-empties FILE           write which empty values the other server distinguishes
  --record-custom-resources FILE  write the other server's answers of custom-resources
  --record-webhooks FILE          write the other server's outcomes of webhooks
  --record-rules FILE             write the other server's answers of rules
`;
const flags = parseFlags('differential', usage, {
  upstream: { type: 'boolean', default: false },
  reference: { type: 'string' },
  token: { type: 'string', default: '' },
  kinds: { type: 'string' },
  count: { type: 'string', default: '200' },
  seed: { type: 'string', default: 'differential' },
  'record-empties': { type: 'string' },
  verbose: { type: 'boolean', default: false },
  'record-custom-resources': { type: 'string' },
  'record-webhooks': { type: 'string' },
  case: { type: 'string', default: '' },
  'record-rules': { type: 'string' },
});
if (!Number.isSafeInteger(Number(flags.count)) || Number(flags.count) < 0) {
  console.error('differential: --count: a whole number from 0 was expected');
  process.exit(2);
}
if ((flags.reference !== undefined) === flags.upstream) {
  console.error(
    'differential: either --upstream or --reference URL is needed, such as https://127.0.0.1:6443',
  );
  process.exit(2);
}
/** The values of `--kinds` that are not kinds. */
const PARTS: readonly string[] = [
  'wire',
  'requests',
  'empties',
  'versions',
  'custom-resources',
  'definitions',
  'custom-objects',
  'webhooks',
  'rules',
];
/** A random schema has ten objects, and takes as long as ten requests of other kinds. */
const CASES_PER_COUNT = 10;
const only = flags.kinds?.split(',');
const server = await Ours.start();
const upstream = flags.upstream ? await startOrExit() : undefined;
const reference = new Reference(
  upstream?.url ?? flags.reference ?? '',
  upstream?.token ?? flags.token,
);

let sent = 0;
let different = 0;
try {
  if (only === undefined || only.includes('custom-resources')) {
    const report = (text: string): void => {
      if (!text.startsWith(' ')) different++;
      console.log(text);
    };
    const recorded = await askUpstream(reference, report);
    const random = randomCases(
      fnv32a(flags.seed),
      Math.ceil(Number(flags.count) / CASES_PER_COUNT),
    );
    sent +=
      Object.keys(recorded.answers).length +
      Object.keys(await answersOf(reference, random, report)).length;
    const file = flags['record-custom-resources'];
    if (file !== undefined) writeFileSync(file, `${JSON.stringify(recorded, undefined, 1)}\n`);
  }
  if (only === undefined || only.includes('custom-objects')) {
    const report = (title: string, lines: readonly string[]): void => {
      different++;
      console.log(title.slice(0, 400));
      for (const line of lines) console.log(`    ${line.slice(0, 700)}`);
    };
    sent += await compareCustomObjects(server, reference, report);
    sent += await compareConversions(server, reference, report);
  }
  if (only === undefined || only.includes('rules')) {
    const answers = await askUpstreamForRules(reference, (text) => {
      if (!text.startsWith(' ')) different++;
      console.log(text);
    });
    sent += Object.keys(answers).length;
    const file = flags['record-rules'];
    if (file !== undefined) writeFileSync(file, `${JSON.stringify(answers, undefined, 1)}\n`);
  }
  if (only?.includes('webhooks') === true) {
    const report = (line: string): void => console.log(line.slice(0, 900));
    const ours = (shot: Shot): Promise<Answer> => server.send(shot);
    const compared = await compareWebhooks(
      ours,
      (shot) => reference.send(shot),
      report,
      flags.case,
    );
    sent += Object.values(compared.recorded).flat().length;
    different += compared.different;
    const file = flags['record-webhooks'];
    if (file !== undefined) writeFileSync(file, recordText(compared.recorded));
  }
  if (only === undefined || only.includes('wire')) {
    for (const shot of wireShots) {
      sent++;
      const found = wireDifferences(shot, await server.wire(shot), await reference.wire(shot));
      if (found.length === 0) continue;
      different++;
      console.log(`${shot.method ?? 'GET'} ${shot.path} ${JSON.stringify(shot.headers ?? {})}`);
      for (const line of found) console.log(`    ${line.slice(0, 700)}`);
    }
    const metrics = metricDifferences(
      (await server.wire({ path: '/metrics' })).text,
      (await reference.wire({ path: '/metrics' })).text,
    );
    for (const line of metrics) console.log(`/metrics: ${line}`);
    different += metrics.length;
  }
  if (only === undefined || only.includes('requests')) {
    for (const shot of requests)
      report(shot, ...(await Promise.all([server.send(shot), reference.send(shot)])));
  }
  if (only === undefined || only.includes('versions')) {
    for (const shot of versionRequests)
      report(shot, ...(await Promise.all([server.send(shot), reference.send(shot)])));
  }
  for (const [part, steps] of [
    ['definitions', definitionSteps],
    ['custom-objects', customObjectSteps],
  ] as const) {
    if (only !== undefined && !only.includes(part)) continue;
    await removeDefinitions();
    await compareSteps(steps, { ours: server, theirs: reference, report: reportLines });
    await removeDefinitions();
  }
  const onlyEmpties = only?.includes('empties') === true;
  const chosen = only?.filter((name) => !PARTS.includes(name)) ?? [];
  const allKinds = only === undefined || (onlyEmpties && chosen.length === 0);
  const toldApart: string[] = [];
  for (const sample of [...samples, ...kindManifests]) {
    const served = servedKind(server.kinds, sample);
    if (served === undefined || !(allKinds || chosen.includes(sample.kind))) continue;
    const target = targetOf(served, sample);
    await removeFrom(target);
    const made = await Promise.all([
      server.send(creation(target)),
      reference.send(creation(target)),
    ]);
    report(creation(target), ...made);
    for (const shot of onlyEmpties
      ? []
      : shots(target, Number(flags.count), new SeededRandom(`${flags.seed} ${sample.kind}`))) {
      report(shot, ...(await Promise.all([server.send(shot), reference.send(shot)])));
    }
    if (only === undefined || onlyEmpties) toldApart.push(...(await compareEmpties(target)));
    await removeFrom(target);
  }
  if (flags['record-empties'] !== undefined)
    writeFileSync(flags['record-empties'], toldApart.map((line) => `${line}\n`).join(''));
} finally {
  reference.close();
  await server.stop();
  await upstream?.stop();
}
console.log(`${sent} requests, ${different} answered differently`);
process.exitCode = different > 0 ? 1 : 0;

/** Starts upstream's server. Ends the process if that fails. */
async function startOrExit(): Promise<Upstream> {
  try {
    return await startUpstream((text) => console.error(text));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.error(`differential: ${error.message}`);
    process.exit(1);
  }
}

/**
 * Returns the places where the reference answers differently to an empty and to a missing value,
 * with the difference.
 */
async function compareEmpties(target: Target): Promise<string[]> {
  const message = messageOf(String(target.manifest['apiVersion']), target.kind);
  if (message === undefined) throw new Error(`no schema for ${target.kind}`);
  const found: string[] = [];
  for (const place of emptyPlaces(message, target.manifest)) {
    for (const way of target.mayUpdate ? WAYS : (['create'] as const)) {
      const shot = emptyShot(target, place, way, place.empty);
      const [ours, theirs] = await Promise.all([server.send(shot), reference.send(shot)]);
      report(shot, ours, theirs);
      if (flags['record-empties'] === undefined || !isRecorded(place, way)) continue;
      const without = await reference.send(emptyShot(target, place, way, undefined));
      const outcome = difference(without, theirs);
      if (outcome !== undefined) found.push(recordLine(target, place, way, outcome));
    }
  }
  return found;
}

async function removeFrom(target: Target): Promise<void> {
  for (const step of removal(target)) await Promise.all([reference.send(step), server.send(step)]);
}

/**
 * Removes definitions of an interrupted run from the reference server, and waits until they are
 * gone.
 */
async function removeDefinitions(): Promise<void> {
  const held = `/apis/${GROUP}/v2/namespaces/default/anchors/held`;
  await reference.send({
    ...remove(held),
    method: 'PATCH',
    type: MERGE,
    body: '{"metadata":{"finalizers":null}}',
  });
  for (const plural of ['anchors', 'hooks', 'chains', 'vessels', 'fleets']) {
    const path = `${DEFINITIONS}/${plural}.${GROUP}`;
    await wait.pollImmediately(
      { clock: systemClock, intervalMs: 100, timeoutMs: 10_000 },
      async () => {
        return (await reference.send(remove(path))).code === 404;
      },
    );
  }
}

function reportLines(what: string, lines: readonly string[]): void {
  sent++;
  if (lines.length === 0) return;
  different++;
  console.log(what.slice(0, 600));
  for (const line of lines) console.log(`    ${line.slice(0, 700)}`);
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
