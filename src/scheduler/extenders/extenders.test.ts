// Extenders over real HTTP: their requests, the effects of their responses on a decision, and their
// failures.

import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { readConfiguration } from '../config/configuration.ts';
import { resolveProfile } from '../profile.ts';
import { CycleState } from '../framework/cycle-state.ts';
import { Framework } from '../framework/framework.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { NodeToStatus } from '../framework/node-to-status.ts';
import { WaitingPods } from '../framework/waiting-pods.ts';
import { inTreeRegistry } from '../plugins/registry.ts';
import { SchedulingAlgorithm } from '../scheduling-algorithm.ts';
import { makeHandle, RecordingLogger, snapshotOf } from '../testing/handle.ts';
import { makeNodeInfo, makePodInfo } from '../testing/objects.ts';
import { EXTENDERS } from '../framework/extender.ts';
import { Extenders } from './extenders.ts';
import { httpExtender } from './http-extender.ts';
import { postOver } from './post.ts';

type Body = { readonly NodeNames?: readonly string[] };
/** By verb: the response, or a status code. A missing verb is never answered. */
let answers: Record<string, (body: Body) => unknown>;
let asked: { readonly verb: string; readonly body: unknown }[];
let server: http.Server;
let url: string;

beforeEach(async () => {
  answers = {};
  asked = [];
  server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const verb = request.url?.slice(1) ?? '';
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
      asked.push({ verb, body });
      const answer = answers[verb]?.(body);
      if (answer === undefined) return;
      response.statusCode = typeof answer === 'number' ? answer : 200;
      response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const logger = new RecordingLogger();

function make(...extenders: readonly Readonly<Record<string, unknown>>[]): Extenders {
  const configuration = readConfiguration({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    extenders: extenders.map((extender) => ({ urlPrefix: `${url}/`, ...extender })),
  });
  return new Extenders({
    extenders: configuration.extenders.map((extender) =>
      httpExtender(extender, postOver(extender, systemClock)),
    ),
    logger,
    signal: new AbortController().signal,
  });
}

const nodes = ['a', 'b', 'c'].map((name) => makeNodeInfo(name));
const pod = makePodInfo('p', { requests: { cpu: '1', 'example.com/gpu': '1' } });
const names = (left: readonly NodeInfo[]): readonly string[] => left.map(({ name }) => name);

describe('Extenders filter', () => {
  test('by node objects, each called with the nodes that the previous one leaves', async () => {
    answers['first'] = () => ({
      Nodes: { items: [{ metadata: { name: 'a' } }, { metadata: { name: 'c' } }] },
      FailedNodes: { b: 'busy' },
    });
    answers['second'] = () => ({
      nodes: { items: [{ metadata: { name: 'c' } }] },
      failedAndUnresolvableNodes: { a: 'broken' },
    });
    const extenders = make({ filterVerb: 'first' }, { filterVerb: 'second' });
    const statuses = new NodeToStatus();
    expect(names(await extenders.filter(pod, nodes, statuses))).toEqual(['c']);
    expect([statuses.get('b')?.code, statuses.get('b')?.message]).toEqual([
      'Unschedulable',
      'busy',
    ]);
    expect([statuses.get('a')?.code, statuses.get('a')?.message]).toEqual([
      'UnschedulableAndUnresolvable',
      'broken',
    ]);
    expect(asked[0]?.body).toMatchObject({
      Pod: { kind: 'Pod', metadata: { name: 'p' } },
      NodeNames: null,
    });
    expect(asked[1]).toMatchObject({
      verb: 'second',
      body: { Nodes: { items: [{ metadata: { name: 'a' } }, { kind: 'Node' }] } },
    });
  });

  test('by names, if they cache nodes', async () => {
    answers['filter'] = () => ({ NodeNames: ['b'] });
    const extenders = make({ filterVerb: 'filter', nodeCacheCapable: true });
    expect(names(await extenders.filter(pod, nodes, new NodeToStatus()))).toEqual(['b']);
    expect(asked[0]?.body).toMatchObject({ Nodes: null, NodeNames: ['a', 'b', 'c'] });
    answers['filter'] = () => ({ NodeNames: ['z'] });
    await expect(extenders.filter(pod, nodes, new NodeToStatus())).rejects.toThrow(
      /claims a filtered node "z" which is not found in the input node list/,
    );
  });

  test('only for pods that request their resources', async () => {
    answers['filter'] = () => ({ NodeNames: [] });
    const gpus = {
      filterVerb: 'filter',
      nodeCacheCapable: true,
      managedResources: [{ name: 'example.com/gpu' }],
    };
    const extenders = make(gpus);
    expect(
      await extenders.filter(
        makePodInfo('q', { requests: { cpu: '1' } }),
        nodes,
        new NodeToStatus(),
      ),
    ).toEqual(nodes);
    expect(await extenders.filter(pod, nodes, new NodeToStatus())).toEqual([]);
    expect(asked).toHaveLength(1);
  });

  test.each<[string, () => unknown, RegExp]>([
    ['that say so', () => ({ Error: 'no idea' }), /^no idea$/],
    ['with another status', () => 500, /^failed filter with extender at URL .*\/filter, code 500$/],
    ['that do not answer in time', () => undefined, /context deadline exceeded/],
  ])('and fail scheduling with those %s, unless they may fail', async (_what, answer, message) => {
    answers['filter'] = answer;
    // Extenders that respond may be slow on a busy machine.
    const extender = { filterVerb: 'filter', httpTimeout: answer() === undefined ? '50ms' : '30s' };
    await expect(make(extender).filter(pod, nodes, new NodeToStatus())).rejects.toThrow(message);
    expect(
      await make({ ...extender, ignorable: true }).filter(pod, nodes, new NodeToStatus()),
    ).toEqual(nodes);
  });
});

describe('Extenders', () => {
  test('add weighted scores, and none after a failure', async () => {
    answers['prioritize'] = () => [
      { Host: 'a', Score: 3 },
      { host: 'c', score: 10 },
    ];
    answers['fails'] = () => 500;
    const scores = [100, 200, 300];
    await make(
      { prioritizeVerb: 'prioritize', weight: 2 },
      { prioritizeVerb: 'fails', weight: 9 },
    ).addScores(pod, nodes, scores);
    expect(scores).toEqual([160, 200, 500]);
  });

  test('bind instead of the profile', async () => {
    answers['bind'] = () => ({});
    const extenders = make({ bindVerb: 'bind' });
    expect(await extenders.bind(pod.pod, 'b')).toBe(true);
    expect(asked[0]?.body).toEqual({
      PodName: 'p',
      PodNamespace: 'default',
      PodUID: 'uid-p',
      Node: 'b',
    });
    answers['bind'] = () => ({ Error: 'taken' });
    await expect(extenders.bind(pod.pod, 'b')).rejects.toThrow('taken');
    expect(await make({ bindVerb: 'bind', ignorable: true }).bind(pod.pod, 'b')).toBe(false);
    expect(await make({ filterVerb: 'filter' }).bind(pod.pod, 'b')).toBe(false);
  });

  test('exclude candidates of preemption, or change their victims', async () => {
    const [one, two] = [makePodInfo('one'), makePodInfo('two')];
    const podsOn = (node: string) => (node === 'z' ? undefined : [one, two]);
    const candidates = new Map([
      ['a', { pods: [one], violations: 0 }],
      ['b', { pods: [one, two], violations: 1 }],
    ]);
    answers['preempt'] = () => ({
      NodeNameToMetaVictims: { b: { Pods: [{ UID: 'uid-two' }], NumPDBViolations: 1 } },
    });
    const extenders = make({ preemptVerb: 'preempt', nodeCacheCapable: true });
    expect(await extenders.preempt(pod, candidates, podsOn)).toEqual(
      new Map([['b', { pods: [two], violations: 1 }]]),
    );
    expect(asked[0]?.body).toMatchObject({
      NodeNameToMetaVictims: {
        b: { Pods: [{ UID: 'uid-one' }, { UID: 'uid-two' }], NumPDBViolations: 1 },
      },
    });
    answers['preempt'] = () => ({ NodeNameToMetaVictims: { a: { Pods: [{ UID: 'nobody' }] } } });
    await expect(extenders.preempt(pod, candidates, podsOn)).rejects.toThrow(
      /the pod is not found on that node/,
    );
    answers['preempt'] = () => ({ NodeNameToMetaVictims: { a: { Pods: [] } } });
    await expect(extenders.preempt(pod, candidates, podsOn)).rejects.toThrow(
      /expected at least one victim pod on node "a"/,
    );
    expect(
      (await make({ preemptVerb: 'preempt', ignorable: true }).preempt(pod, candidates, podsOn))
        .size,
    ).toBe(0);
    expect(make({ filterVerb: 'filter' }).preempts(pod)).toBe(false);
  });
});

describe('SchedulingAlgorithm with extenders', () => {
  function decide(extenders: Extenders, nominatedNodeName?: string) {
    const snapshot = snapshotOf(nodes);
    const handle = makeHandle({ snapshot, extenders });
    const [profile] = readConfiguration(undefined).profiles;
    if (profile === undefined) throw new Error('there is a profile');
    const framework = new Framework({
      profileName: 'default-scheduler',
      plugins: resolveProfile(profile, inTreeRegistry, handle),
      clock: handle.clock,
      nominator: handle.nominator,
      waitingPods: new WaitingPods(),
    });
    const algorithm = new SchedulingAlgorithm({ snapshot, random: new SeededRandom(1) });
    const status = nominatedNodeName === undefined ? {} : { nominatedNodeName };
    return algorithm.scheduleExtended(
      framework,
      new CycleState(),
      makePodInfo('p', { status }),
      extenders,
    );
  }

  test('chooses the node with their highest score among those that they leave', async () => {
    answers['filter'] = () => ({ NodeNames: ['a', 'b'], FailedNodes: { c: 'no' } });
    answers['prioritize'] = () => [
      { Host: 'b', Score: 10 },
      { Host: 'c', Score: 10 },
    ];
    const extenders = make({
      filterVerb: 'filter',
      prioritizeVerb: 'prioritize',
      weight: 1,
      nodeCacheCapable: true,
    });
    expect(await decide(extenders)).toEqual({
      kind: 'node',
      node: 'b',
      evaluatedNodes: 3,
      feasibleNodes: 2,
      scores: [],
    });
  });

  test('reports their reasons if they leave no node, and every event retries the pod', async () => {
    answers['filter'] = () => ({ NodeNames: [], FailedNodes: { a: 'no', b: 'no', c: 'never' } });
    const result = await decide(make({ filterVerb: 'filter', nodeCacheCapable: true }));
    if (result.kind !== 'unfit') throw new Error(result.kind);
    expect(result.diagnosis.unschedulablePlugins).toEqual(new Set([EXTENDERS]));
    expect(['a', 'b', 'c'].map((node) => result.diagnosis.statuses.get(node)?.message)).toEqual([
      'no',
      'no',
      'never',
    ]);
  });

  test('calls them with the nominated node first', async () => {
    answers['filter'] = ({ NodeNames }) => ({ NodeNames });
    const extenders = make({ filterVerb: 'filter', nodeCacheCapable: true });
    expect(await decide(extenders, 'c')).toMatchObject({ node: 'c', evaluatedNodes: 1 });
    answers['filter'] = ({ NodeNames }) => ({
      NodeNames: NodeNames?.filter((name) => name === 'a'),
    });
    expect(await decide(extenders, 'c')).toMatchObject({ node: 'a', evaluatedNodes: 3 });
  });
});
