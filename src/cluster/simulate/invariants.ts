// The invariants of every simulation. Some hold at any time; the others hold once all faults are over and the cluster
// has recovered.

import { deployments, replicaSets, statefulSets } from '#api/groups/apps/v1/index.ts';
import { jobs } from '#api/groups/batch/v1/index.ts';
import { pods, resourceQuotas, services, type Pod } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import type { Immutable, ObjectMeta } from '#api/machinery/meta/v1/index.ts';
import type { ScenarioContext, ScenarioInvariant } from './scenario.ts';

type AnyPod = Immutable<Pod>;

const isActive = (pod: AnyPod): boolean =>
  pod.metadata.deletionTimestamp === undefined &&
  pod.status.phase !== 'Succeeded' &&
  pod.status.phase !== 'Failed';

const isReady = (pod: AnyPod): boolean =>
  isActive(pod) &&
  pod.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

const nameOf = ({ namespace, name }: Immutable<ObjectMeta>): string => `${namespace}/${name}`;

const isOwnedBy = (pod: AnyPod, uid: string | undefined): boolean =>
  pod.metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.controller === true) ===
  true;

/** Admission holds a quota at any time. */
const quotas: ScenarioInvariant = {
  name: 'quotas hold',
  async check({ cluster }) {
    const all = await cluster.list(pods);
    return (await cluster.list(resourceQuotas)).flatMap(({ metadata, spec }) => {
      const limit = spec.hard?.['pods'] ?? spec.hard?.['count/pods'];
      if (limit === undefined) return [];
      const used = all.filter(
        (pod) =>
          pod.metadata.namespace === metadata.namespace &&
          pod.status.phase !== 'Succeeded' &&
          pod.status.phase !== 'Failed',
      ).length;
      return used > Number(limit) ? [`${nameOf(metadata)}: ${used} pods, allowed ${limit}`] : [];
    });
  },
};

/** A workload has exactly its pods. */
const podsAreThere: ScenarioInvariant = {
  name: 'no pod is lost or duplicated',
  when: 'settled',
  async check({ cluster }) {
    const all = await cluster.list(pods);
    const problems: string[] = [];
    for (const [kind, items] of [
      ['ReplicaSet', await cluster.list(replicaSets)],
      ['StatefulSet', await cluster.list(statefulSets)],
    ] as const)
      for (const { metadata, spec } of items) {
        const owned = all.filter((pod) => isOwnedBy(pod, metadata.uid) && isActive(pod));
        const wanted = spec.replicas ?? 1;
        if (owned.length !== wanted)
          problems.push(`${kind} ${nameOf(metadata)}: ${owned.length} pods, wanted ${wanted}`);
        for (const pod of owned)
          if (!isReady(pod))
            problems.push(`${kind} ${nameOf(metadata)}: ${pod.metadata.name} is not ready`);
      }
    for (const { metadata, spec, status } of await cluster.list(deployments)) {
      const wanted = spec.replicas ?? 1;
      if ((status.availableReplicas ?? 0) !== wanted)
        problems.push(
          `Deployment ${nameOf(metadata)}: ${status.availableReplicas ?? 0} available, wanted ${wanted}`,
        );
    }
    for (const { metadata, spec, status } of await cluster.list(jobs)) {
      const isOver = status.conditions?.some(
        ({ type, status: is }) => (type === 'Complete' || type === 'Failed') && is === 'True',
      );
      const wanted = spec.completions ?? 1;
      if (isOver === true && (status.succeeded ?? 0) > wanted)
        problems.push(`Job ${nameOf(metadata)}: ${status.succeeded} succeeded, wanted ${wanted}`);
    }
    return problems;
  },
};

/** The garbage collector leaves nothing whose owner is gone. */
const ownersExist: ScenarioInvariant = {
  name: 'owners exist',
  when: 'settled',
  async check({ cluster }) {
    const owners = new Set<string>();
    for (const type of [deployments, replicaSets, statefulSets, jobs])
      for (const { metadata } of await cluster.list(type as typeof deployments))
        owners.add(metadata.uid ?? '');
    const owned = [...(await cluster.list(pods)), ...(await cluster.list(replicaSets))];
    return owned.flatMap(({ metadata }) =>
      (metadata.ownerReferences ?? [])
        .filter(
          ({ kind, uid }) =>
            /^(Deployment|ReplicaSet|StatefulSet|Job)$/.test(kind) && !owners.has(uid),
        )
        .map(({ kind, name }) => `${nameOf(metadata)}: its ${kind} ${name} is gone`),
    );
  },
};

/** A service sends to the ready pods that it selects, and to no others. */
const endpointsAreReady: ScenarioInvariant = {
  name: 'endpoints are ready pods',
  when: 'settled',
  async check({ cluster }) {
    const all = await cluster.list(pods);
    const slices = await cluster.list(endpointSlices);
    return (await cluster.list(services)).flatMap(({ metadata, spec }) => {
      const selector = Object.entries(spec.selector ?? {});
      if (selector.length === 0) return [];
      const expected = all
        .filter(
          (pod) =>
            pod.metadata.namespace === metadata.namespace &&
            isReady(pod) &&
            selector.every(([label, value]) => pod.metadata.labels?.[label] === value),
        )
        .map(({ status }) => status.podIP ?? '');
      const actual = slices
        .filter(
          (slice) =>
            slice.metadata.namespace === metadata.namespace &&
            slice.metadata.labels?.['kubernetes.io/service-name'] === metadata.name,
        )
        .flatMap(({ endpoints }) =>
          (endpoints ?? [])
            .filter(({ conditions }) => conditions?.ready !== false)
            .flatMap(({ addresses }) => addresses),
        );
      const [wanted, found] = [expected, actual].map((list) => [...list].sort().join(' '));
      return wanted === found
        ? []
        : [`${nameOf(metadata)}: endpoints ${found ?? ''}; ready pods ${wanted ?? ''}`];
    });
  },
};

export const INVARIANTS: readonly ScenarioInvariant[] = [
  quotas,
  podsAreThere,
  ownersExist,
  endpointsAreReady,
];

/** Returns what is wrong, with the name of the invariant in front. */
export async function violations(
  invariants: readonly ScenarioInvariant[],
  context: ScenarioContext,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const { name, check } of invariants)
    problems.push(...(await check(context)).map((problem) => `${name}: ${problem}`));
  return problems;
}
