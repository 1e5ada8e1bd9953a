// Explains why a claim is not bound.

import type { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/groups/core/v1/index.ts';
import type { StorageClass } from '#api/groups/storage/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { asInfo, type Cause, cause } from './cause.ts';
import type { Context } from './context.ts';
import { warnings } from './events.ts';

export function explainClaim(object: KubeObject, context: Context): readonly Cause[] {
  const claim = object as Immutable<PersistentVolumeClaim>;
  const { objects, now } = context;
  const phase = claim.status?.phase ?? 'Pending';
  const users = usersOf(claim, context);
  const used =
    users.length === 0
      ? []
      : [cause('info', `used by ${users.map((pod) => `pod/${pod.metadata.name}`).join(', ')}`)];
  if (phase === 'Bound')
    return [cause('ok', `is bound to pv/${claim.spec.volumeName}`, { source: 'status' }), ...used];
  if (phase === 'Lost')
    return [
      cause('problem', `its volume ${claim.spec.volumeName} does not exist any more`, {
        source: 'status',
      }),
      ...used,
    ];
  const events = warnings(object, objects, now);
  const { severity, text, causes } = pendingCause(claim, users.length, context);
  return [
    cause(events.length > 0 ? 'problem' : severity, `is not bound: ${text}`, {
      source: 'status',
      causes: [...(severity === 'problem' ? events.map(asInfo) : events), ...causes],
    }),
    ...used,
  ];
}

interface Pending {
  readonly severity: 'problem' | 'waiting';
  readonly text: string;
  readonly causes: readonly Cause[];
  /** The claim waits for a pod that uses it, as its class says. */
  readonly unused?: true;
}

/**
 * Returns the reason that a claim is not bound. Undefined: it is bound, or no known pod uses it and it
 * is bound to a volume only then.
 */
export function claimProblem(object: KubeObject, context: Context): Cause | undefined {
  const { status, metadata } = object as Immutable<PersistentVolumeClaim>;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const [state] = explainClaim(object, context);
  if (state === undefined || status?.phase === 'Bound' || status?.phase === 'Lost')
    return state?.severity === 'problem' ? state : undefined;
  const claim = object as Immutable<PersistentVolumeClaim>;
  const isUnused = pendingCause(claim, usersOf(claim, context).length, context).unused === true;
  return isUnused && state.severity === 'waiting' ? undefined : state;
}

function usersOf(
  { metadata: { namespace = '', name } }: Immutable<PersistentVolumeClaim>,
  { objects }: Context,
): readonly Immutable<Pod>[] {
  return objects
    .ofKind<Pod>('', 'Pod', namespace)
    .filter((pod) =>
      (pod.spec.volumes ?? []).some((volume) => volume.persistentVolumeClaim?.claimName === name),
    );
}

function pendingCause(
  claim: Immutable<PersistentVolumeClaim>,
  users: number,
  { objects }: Context,
): Pending {
  const pending = (
    severity: Pending['severity'],
    text: string,
    causes: readonly Cause[] = [],
  ): Pending => ({ severity, text, causes });
  const { storageClassName, volumeName } = claim.spec;
  if (volumeName) {
    const volume = objects.lookup({ group: '', kind: 'PersistentVolume', name: volumeName });
    if (volume.state === 'absent')
      return pending('problem', `the volume ${volumeName} that it names does not exist`);
    const bound =
      volume.state === 'found'
        ? (volume.object as Immutable<PersistentVolume>).spec?.claimRef
        : undefined;
    if (bound && bound.uid && bound.uid !== claim.metadata.uid)
      return pending(
        'problem',
        `the volume ${volumeName} belongs to the claim ${bound.namespace}/${bound.name}`,
      );
    return pending('waiting', `waits for the volume ${volumeName}`);
  }
  if (!storageClassName) {
    const reason =
      storageClassName === ''
        ? 'it wants a volume without a storage class'
        : 'it names no storage class, and there is no default one';
    return pending('problem', `${reason}, and no free volume fits`);
  }
  const found = objects.lookup({
    group: 'storage.k8s.io',
    kind: 'StorageClass',
    name: storageClassName,
  });
  if (found.state === 'absent')
    return pending('problem', `the storage class ${storageClassName} does not exist`);
  if (found.state === 'unknown')
    return pending('waiting', `waits for a volume of the storage class ${storageClassName}`);
  const { provisioner, volumeBindingMode } = found.object as Immutable<StorageClass>;
  if (volumeBindingMode === 'WaitForFirstConsumer' && users === 0)
    return {
      ...pending(
        'waiting',
        `the storage class ${storageClassName} waits for the first pod that uses the claim, and there is none`,
      ),
      unused: true,
    };
  if (provisioner === 'kubernetes.io/no-provisioner')
    return pending(
      'problem',
      `no free volume of the storage class ${storageClassName} fits, and the class makes none`,
    );
  return pending('waiting', `waits for the provisioner ${provisioner}`);
}
