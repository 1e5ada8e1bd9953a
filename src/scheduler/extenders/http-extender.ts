// An extender over HTTP, with upstream's JSON format.

import type { ExtenderConfiguration } from '../config/extenders.ts';
import type { Node, Pod } from '../framework/objects.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import {
  type Extender,
  ExtenderError,
  type ExtenderVictims,
  type FilterAnswer,
} from '../framework/extender.ts';

/** Posts JSON to the URL and returns the parsed response. Throws ExtenderError. */
export type Post = (url: string, body: unknown, signal: AbortSignal) => Promise<unknown>;

export function httpExtender(configuration: ExtenderConfiguration, post: Post): Extender {
  const { urlPrefix, filterVerb, prioritizeVerb, preemptVerb, bindVerb, nodeCacheCapable } =
    configuration;
  const managed = new Set(configuration.managedResources.map(({ name }) => name));
  const send = (verb: string, body: unknown, signal: AbortSignal): Promise<unknown> =>
    post(`${urlPrefix.replace(/\/+$/, '')}/${verb}`, body, signal);
  const about = (pod: Pod, nodes: readonly Node[]): unknown =>
    nodeCacheCapable
      ? {
          Pod: asSent(pod, 'Pod'),
          Nodes: null,
          NodeNames: nodes.map(({ metadata }) => metadata.name),
        }
      : {
          Pod: asSent(pod, 'Pod'),
          Nodes: { metadata: {}, items: nodes.map((node) => asSent(node, 'Node')) },
          NodeNames: null,
        };

  return {
    name: urlPrefix,
    ignorable: configuration.ignorable,
    weight: configuration.weight,
    isInterested: (pod) => managed.size === 0 || asksFor(pod, managed),
    ...(filterVerb !== '' && {
      filter: async (pod: Pod, nodes: readonly Node[], signal: AbortSignal) =>
        readFilterAnswer(await send(filterVerb, about(pod, nodes), signal), nodes, configuration),
    }),
    ...(prioritizeVerb !== '' && {
      prioritize: async (pod: Pod, nodes: readonly Node[], signal: AbortSignal) =>
        readScores(await send(prioritizeVerb, about(pod, nodes), signal), urlPrefix),
    }),
    ...(preemptVerb !== '' && {
      preempt: async (
        pod: Pod,
        candidates: ReadonlyMap<string, ExtenderVictims>,
        podsOn: (node: string) => Iterable<PodInfo> | undefined,
        signal: AbortSignal,
      ) => {
        const body = { Pod: asSent(pod, 'Pod'), ...victimsToSend(candidates, nodeCacheCapable) };
        return readVictims(await send(preemptVerb, body, signal), podsOn, urlPrefix);
      },
    }),
    ...(bindVerb !== '' && {
      bind: async ({ metadata }: Pod, node: string, signal: AbortSignal) => {
        const body = {
          PodName: metadata.name,
          PodNamespace: metadata.namespace,
          PodUID: metadata.uid,
          Node: node,
        };
        failIfTold(await send(bindVerb, body, signal));
      },
    }),
  };
}

/** Returns the object with its kind, which objects from lists lack. */
function asSent<T extends Pod | Node>(object: T, kind: string): T {
  return { apiVersion: 'v1', kind, ...object };
}

function asksFor({ spec }: Pod, resources: ReadonlySet<string>): boolean {
  return [...spec.containers, ...(spec.initContainers ?? [])].some(
    ({ resources: { requests, limits } }) =>
      Object.keys({ ...requests, ...limits }).some((name) => resources.has(name)),
  );
}

function victimsToSend(
  candidates: ReadonlyMap<string, ExtenderVictims>,
  uidsOnly: boolean,
): Readonly<Record<string, unknown>> {
  const byNode = Object.fromEntries(
    Array.from(candidates, ([node, { pods, violations }]) => {
      const sent = pods.map((pod) => (uidsOnly ? { UID: pod.uid } : asSent(pod.pod, 'Pod')));
      return [node, { Pods: sent, NumPDBViolations: violations }];
    }),
  );
  return uidsOnly
    ? { NodeNameToVictims: null, NodeNameToMetaVictims: byNode }
    : { NodeNameToVictims: byNode, NodeNameToMetaVictims: null };
}

function readFilterAnswer(
  answer: unknown,
  nodes: readonly Node[],
  { urlPrefix, nodeCacheCapable }: ExtenderConfiguration,
): FilterAnswer {
  failIfTold(answer);
  const asked = new Set(nodes.map(({ metadata }) => metadata.name));
  const names = nodeCacheCapable ? get(answer, 'NodeNames') : undefined;
  const items = get(get(answer, 'Nodes'), 'items');
  const passing = Array.isArray(names)
    ? names.map(String)
    : Array.isArray(items)
      ? items.map((item: unknown) => String(get(get(item, 'metadata'), 'name')))
      : [];
  for (const name of passing) {
    if (asked.has(name)) continue;
    throw new ExtenderError(
      `extender "${urlPrefix}" claims a filtered node "${name}" which is not found in the input node list`,
    );
  }
  return {
    passing,
    failed: readTexts(get(answer, 'FailedNodes')),
    unresolvable: readTexts(get(answer, 'FailedAndUnresolvableNodes')),
  };
}

function readScores(answer: unknown, extender: string): ReadonlyMap<string, number> {
  if (answer !== null && !Array.isArray(answer))
    throw new ExtenderError(`extender "${extender}" answers no list of scores`);
  const scores = new Map<string, number>();
  for (const one of (answer ?? []) as readonly unknown[]) {
    const [host, score] = [get(one, 'Host'), get(one, 'Score') ?? 0];
    if (typeof host !== 'string' || !Number.isInteger(score)) {
      throw new ExtenderError(
        `extender "${extender}" answers a score that cannot be read: ${JSON.stringify(one)}`,
      );
    }
    scores.set(host, (scores.get(host) ?? 0) + (score as number));
  }
  return scores;
}

function readVictims(
  answer: unknown,
  podsOn: (node: string) => Iterable<PodInfo> | undefined,
  extender: string,
): ReadonlyMap<string, ExtenderVictims> {
  const victims = new Map<string, ExtenderVictims>();
  for (const [node, of] of Object.entries(
    (get(answer, 'NodeNameToMetaVictims') ?? {}) as Record<string, unknown>,
  )) {
    const present = podsOn(node);
    if (present === undefined)
      throw new ExtenderError(`nodeinfo not found for node name "${node}"`);
    const byUid = new Map(Array.from(present, (pod) => [pod.uid, pod]));
    const named = get(of, 'Pods');
    const pods = (Array.isArray(named) ? named : []).map((one: unknown) => {
      const uid = String(get(one, 'UID'));
      const pod = byUid.get(uid);
      if (pod !== undefined) return pod;
      throw new ExtenderError(
        `extender: ${extender} claims to preempt pod (UID: ${uid}) on node: ${node}, but the ` +
          'pod is not found on that node',
      );
    });
    victims.set(node, { pods, violations: Number(get(of, 'NumPDBViolations') ?? 0) });
  }
  return victims;
}

function failIfTold(answer: unknown): void {
  const error = get(answer, 'Error');
  if (typeof error === 'string' && error !== '') throw new ExtenderError(error);
}

function readTexts(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, String(text)]));
}

/**
 * Returns a field, matching its name case-insensitively: upstream's scheduler accepts any case, and
 * extenders are written in many languages.
 */
function get(object: unknown, name: string): unknown {
  if (typeof object !== 'object' || object === null) return undefined;
  if (Object.hasOwn(object, name)) return (object as Record<string, unknown>)[name];
  const wanted = name.toLowerCase();
  const found = Object.keys(object).find((key) => key.toLowerCase() === wanted);
  return found === undefined ? undefined : (object as Record<string, unknown>)[found];
}
