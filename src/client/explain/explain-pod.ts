// Explains why a pod does not run: its own state, then scheduling, node, volumes, configuration and rules.

import type {
  Container,
  Node,
  PersistentVolumeClaim,
  Pod,
  Volume,
} from '#api/groups/core/v1/index.ts';
import type { NetworkPolicy } from '#api/groups/networking/v1/index.ts';
import type { PodDisruptionBudget } from '#api/groups/policy/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { asInfo, bySeverity, type Cause, cause, type ObjectRef, refText, worst } from './cause.ts';
import type { Context } from './context.ts';
import { notSaid, warnings } from './events.ts';
import { nodeStateCauses } from './node-state.ts';
import { conditionOf, podStateCauses } from './pod-state.ts';
import { schedulingCauses } from './scheduling.ts';

type PodObject = Immutable<Pod>;

export function explainPod(object: KubeObject, context: Context): readonly Cause[] {
  const pod = object as PodObject;
  const { objects, now } = context;
  const state = podStateCauses(pod, now);
  const severity = worst(state);
  if (severity === 'ok') {
    const fine =
      state.length > 0 ? state : [cause('ok', 'runs and is ready', { source: 'status' })];
    return [...fine, ...rules(pod, context)];
  }
  const scheduled = conditionOf(pod, 'PodScheduled')?.status === 'True' || !!pod.spec.nodeName;
  const dependencies = scheduled
    ? [...nodeCauses(pod, context), ...volumeCauses(pod, context), ...configCauses(pod, context)]
    : decision(pod, context);
  const [first, ...others] = bySeverity(state);
  if (first === undefined) return rules(pod, context);
  const known = explainsItself(first) || worst(dependencies) === 'problem';
  const events = notSaid(warnings(object, objects, now), state)
    .filter(({ source }) => source !== 'event FailedScheduling')
    .map((each) => (known ? asInfo(each) : each));
  const main = cause(first.severity, first.text, {
    ...first,
    causes: [...first.causes, ...dependencies, ...events],
  });
  return [main, ...others, ...rules(pod, context)];
}

/** Containers that wait for a reason name it; those that wait for nothing, or whose probes fail, leave it to events. */
const explainsItself = ({ severity, text }: Cause): boolean =>
  severity === 'problem' && !text.includes(' runs, but ');

/** Returns the scheduler's verdict. Unbound claims are the causes of the verdict of VolumeBinding. */
function decision(pod: PodObject, context: Context): readonly Cause[] {
  const claims = claimCauses(pod, context);
  const verdict = context.scheduling?.get(pod.metadata.uid);
  if (verdict === undefined) return claims;
  const causes = schedulingCauses(verdict);
  const byVolumes = (each: Cause): boolean => each.source?.includes('VolumeBinding') ?? false;
  if (!causes.some(byVolumes)) return [...causes, ...claims];
  return causes.map((each) =>
    byVolumes(each) ? cause(each.severity, each.text, { ...each, causes: claims }) : each,
  );
}

function nodeCauses(pod: PodObject, { objects }: Context): readonly Cause[] {
  const { nodeName } = pod.spec;
  if (!nodeName) return [];
  const ref = { group: '', kind: 'Node', name: nodeName };
  const found = objects.lookup(ref);
  if (found.state === 'absent')
    return [cause('problem', `node ${nodeName} does not exist any more`, { object: ref })];
  if (found.state === 'unknown') return [];
  const problems = nodeStateCauses(found.object as Immutable<Node>).filter(
    ({ severity, source }) => severity === 'problem' && source !== 'spec.unschedulable',
  );
  if (problems.length === 0) return [];
  return [cause('problem', `node ${nodeName} has a problem`, { object: ref, causes: problems })];
}

/** Returns the claims that the pod mounts. Unbound ones are explained. */
function claimCauses(pod: PodObject, context: Context): readonly Cause[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    const name = claimName(pod, volume);
    if (name === undefined) return [];
    const ref = inNamespace(pod, '', 'PersistentVolumeClaim', name);
    const found = context.objects.lookup(ref);
    if (found.state === 'absent')
      return [
        cause('problem', `the claim ${name} of volume ${volume.name} does not exist`, {
          object: ref,
          source: 'spec.volumes',
        }),
      ];
    if (found.state === 'unknown') return [];
    const claim = found.object as Immutable<PersistentVolumeClaim>;
    if (claim.status?.phase === 'Bound') return [];
    return [context.descend(found.object, `volume ${volume.name} needs`)];
  });
}

function claimName(pod: PodObject, volume: Immutable<Volume>): string | undefined {
  if (volume.ephemeral) return `${pod.metadata.name}-${volume.name}`;
  return volume.persistentVolumeClaim?.claimName;
}

interface Needed {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly name: string;
  /** The part of the pod that needs it: 'volume data'. */
  readonly by: string;
}

function volumeCauses(pod: PodObject, context: Context): readonly Cause[] {
  return [...claimCauses(pod, context), ...missing(pod, neededByVolumes(pod), context)];
}

function configCauses(pod: PodObject, context: Context): readonly Cause[] {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return missing(pod, containers.flatMap(neededByContainer), context);
}

/** Returns the ConfigMaps and Secrets without which the pod cannot start. */
export function neededBy(pod: PodObject): readonly Needed[] {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return [...neededByVolumes(pod), ...containers.flatMap(neededByContainer)];
}

function neededByVolumes(pod: PodObject): readonly Needed[] {
  return (pod.spec.volumes ?? []).flatMap(({ name: volume, configMap, secret, projected }) => {
    const by = `volume ${volume}`;
    const sources = [{ configMap, secretName: secret }, ...(projected?.sources ?? [])];
    return sources.flatMap((source): readonly Needed[] => {
      const config = source.configMap;
      const secretSource = 'secretName' in source ? source.secretName : source.secret;
      const secretName =
        secretSource && 'secretName' in secretSource
          ? secretSource.secretName
          : (secretSource as { name?: string } | undefined)?.name;
      return [
        ...(config?.name && !config.optional
          ? [{ kind: 'ConfigMap' as const, name: config.name, by }]
          : []),
        ...(secretName && !secretSource?.optional
          ? [{ kind: 'Secret' as const, name: secretName, by }]
          : []),
      ];
    });
  });
}

function neededByContainer({ name: container, env = [], envFrom = [] }: Immutable<Container>) {
  const needed: Needed[] = [];
  const add = (
    kind: Needed['kind'],
    reference: { readonly name?: string; readonly optional?: boolean } | undefined,
    by: string,
  ): void => {
    if (reference?.name && !reference.optional) needed.push({ kind, name: reference.name, by });
  };
  for (const { name, valueFrom } of env) {
    const by = `variable ${name} of container ${container}`;
    const { configMapKeyRef, secretKeyRef } = valueFrom ?? {};
    add('ConfigMap', configMapKeyRef, by);
    add('Secret', secretKeyRef, by);
  }
  for (const { configMapRef, secretRef } of envFrom) {
    add('ConfigMap', configMapRef, `environment of container ${container}`);
    add('Secret', secretRef, `environment of container ${container}`);
  }
  return needed;
}

function missing(
  pod: PodObject,
  needed: readonly Needed[],
  { objects }: Context,
): readonly Cause[] {
  return needed.flatMap(({ kind, name, by }) => {
    const ref = inNamespace(pod, '', kind, name);
    return objects.lookup(ref).state === 'absent'
      ? [cause('problem', `${refText(ref)}, needed by ${by}, does not exist`, { object: ref })]
      : [];
  });
}

const inNamespace = (pod: PodObject, group: string, kind: string, name: string): ObjectRef => ({
  group,
  kind,
  namespace: pod.metadata.namespace ?? '',
  name,
});

/**
 * Budgets that protect the pod, and policies that restrict its traffic: no cause of its state, but of evictions and
 * connections.
 */
function rules(pod: PodObject, { objects }: Context): readonly Cause[] {
  const { namespace = '', labels: own } = pod.metadata;
  const budgets = objects
    .ofKind<PodDisruptionBudget>('policy', 'PodDisruptionBudget', namespace)
    .filter(({ spec }) => labels.labelSelectorAsSelector(spec?.selector).matches(own))
    .map(({ metadata, status }) => {
      const allowed = status?.disruptionsAllowed ?? 0;
      const text =
        allowed > 0
          ? `allows ${allowed} more evictions`
          : `allows no eviction now: ${status?.currentHealthy ?? 0} healthy, ${status?.desiredHealthy ?? 0} wanted`;
      return cause('info', `pdb/${metadata.name} ${text}`, {
        object: inNamespace(pod, 'policy', 'PodDisruptionBudget', metadata.name),
      });
    });
  const policies = objects
    .ofKind<NetworkPolicy>('networking.k8s.io', 'NetworkPolicy', namespace)
    .filter(({ spec }) => labels.labelSelectorAsSelector(spec?.podSelector).matches(own))
    .map(({ metadata, spec }) =>
      cause(
        'info',
        `networkpolicy/${metadata.name} restricts its ${directions(spec?.policyTypes)} traffic`,
        { object: inNamespace(pod, 'networking.k8s.io', 'NetworkPolicy', metadata.name) },
      ),
    );
  return [...budgets, ...policies];
}

const directions = (types: readonly string[] = ['Ingress']): string =>
  types.join(' and ').toLowerCase();
