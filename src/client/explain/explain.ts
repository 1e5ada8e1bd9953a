// From an object and what is around it to the causes of its state. Pure: the objects were read before (gather.ts).

import type { KubeObject, OwnerReference } from '#api/machinery/meta/v1/index.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { type Cause, cause, type ObjectRef, refText, rootCauses, worst } from './cause.ts';
import type { Context, Explainer, World } from './context.ts';
import { explainPod } from './explain-pod.ts';
import { explainIngress, explainService } from './explain-service.ts';
import { explainClaim } from './explain-storage.ts';
import { explainWorkload } from './explain-workload.ts';
import { explainAutoscaler, explainBudget } from './explain-rules.ts';
import { explainQuota } from './quota.ts';
import { explainDeviceClaim } from './explain-device-claim.ts';
import {
  explainAny,
  explainApiService,
  explainNamespace,
  explainNode,
  explainVolume,
  explainWebhooks,
} from './explain-others.ts';
import { groupOf, refOf } from './object-set.ts';
import { deletionCause } from './pod-state.ts';

export interface Explanation {
  readonly object: ObjectRef;
  /** The state of the object, with all causes below it. */
  readonly tree: Cause;
  /** The ends of the chains of causes: the short answer. Empty if nothing is wrong. */
  readonly because: readonly Cause[];
  /** The owners, the nearest first, with their states. */
  readonly owners: readonly Cause[];
  /** By 'Kind.group': what could not be read, and is therefore missing here. */
  readonly unread: Readonly<Record<string, string>>;
}

const MAX_DEPTH = 8;
const MAX_OWNERS = 8;

/** By 'Kind.group'. */
const EXPLAINERS: Readonly<Record<string, Explainer>> = {
  Pod: explainPod,
  Node: explainNode,
  Namespace: explainNamespace,
  PersistentVolume: explainVolume,
  PersistentVolumeClaim: explainClaim,
  Service: explainService,
  ReplicationController: explainWorkload,
  'Deployment.apps': explainWorkload,
  'ReplicaSet.apps': explainWorkload,
  'StatefulSet.apps': explainWorkload,
  'DaemonSet.apps': explainWorkload,
  'Job.batch': explainWorkload,
  'CronJob.batch': explainWorkload,
  'ResourceClaim.resource.k8s.io': explainDeviceClaim,
  'Ingress.networking.k8s.io': explainIngress,
  ResourceQuota: explainQuota,
  'PodDisruptionBudget.policy': explainBudget,
  'HorizontalPodAutoscaler.autoscaling': explainAutoscaler,
  'APIService.apiregistration.k8s.io': explainApiService,
  'ValidatingWebhookConfiguration.admissionregistration.k8s.io': explainWebhooks,
  'MutatingWebhookConfiguration.admissionregistration.k8s.io': explainWebhooks,
};

const WORDS = { ok: 'is as it should be', waiting: 'is not there yet', problem: 'has a problem' };

/** `object` has apiVersion and kind. */
export function explain(object: KubeObject, world: World): Explanation {
  const tree = explainOne(object, world, new Set(), '');
  return {
    object: refOf(object),
    tree,
    because: rootCauses(tree),
    owners: ownersOf(object, world),
    unread: Object.fromEntries(world.objects.unreadable),
  };
}

function explainOne(
  object: KubeObject,
  world: World,
  above: ReadonlySet<string>,
  relation: string,
): Cause {
  const ref = refOf(object);
  const name = refText(ref);
  const title = relation === '' ? name : `${relation} ${name}`;
  const key = `${name} ${ref.namespace ?? ''}`;
  if (above.has(key) || above.size >= MAX_DEPTH)
    return cause('info', `${title} (see above)`, { object: ref });
  const inside = new Set(above).add(key);
  const context: Context = {
    ...world,
    descend: (other, text) => explainOne(other, world, inside, text),
  };
  const explainer = ownValue(EXPLAINERS, ref.group === '' ? ref.kind : `${ref.kind}.${ref.group}`);
  const own = (explainer ?? explainAny)(object, context);
  const going =
    object.metadata.deletionTimestamp && ref.kind !== 'Pod'
      ? [deletionCause(object, world.now)]
      : [];
  const causes = [...going, ...own];
  const severity = worst(causes);
  const state = relation === '' ? ` ${WORDS[severity]}` : `, which ${WORDS[severity]}`;
  return cause(severity, `${title}${state}`, { object: ref, causes });
}

/** The chain of controllers up, with what each says about itself: their children are not explained again. */
function ownersOf(object: KubeObject, world: World): readonly Cause[] {
  const owners: Cause[] = [];
  const seen = new Set<string>();
  let current: KubeObject | undefined = object;
  while (current !== undefined && owners.length < MAX_OWNERS) {
    const reference: OwnerReference | undefined = controllerOf(current);
    if (reference === undefined || seen.has(reference.uid)) break;
    seen.add(reference.uid);
    const ref = referenceOf(reference, current);
    const owner: KubeObject | undefined = world.objects.byUid(reference.uid);
    if (owner !== undefined) {
      const { severity, causes } = explainOne(owner, world, new Set(), '');
      owners.push(
        cause('info', `${refText(ref)} ${WORDS[severity as keyof typeof WORDS] ?? ''}`, {
          object: ref,
          causes: causes.map((each) => ({ ...each, causes: [] })),
        }),
      );
    } else {
      const absent = world.objects.lookup(ref).state === 'absent';
      owners.push(
        cause(
          absent ? 'problem' : 'info',
          `${refText(ref)} ${absent ? 'does not exist any more: the object is about to be collected' : 'was not read'}`,
          { object: ref },
        ),
      );
    }
    current = owner;
  }
  return owners;
}

/** Returns the reference to the controller of an object; if it has none, to its first owner. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  const references = object.metadata.ownerReferences ?? [];
  return references.find(({ controller }) => controller === true) ?? references[0];
}

/** Returns what an owner reference names. Owners of namespaced objects may be cluster-scoped. */
export function referenceOf(reference: OwnerReference, child: KubeObject): ObjectRef {
  const { apiVersion, kind, name } = reference;
  const { namespace } = child.metadata;
  return {
    group: groupOf(apiVersion),
    kind,
    ...(namespace && kind !== 'Node' && { namespace }),
    name,
  };
}
