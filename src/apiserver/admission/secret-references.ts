// Limits the secrets of pods to those that their ServiceAccount lists, if the account has the
// annotation kubernetes.io/enforce-mountable-secrets. The messages are upstream's.

import type { Container, ServiceAccount } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { secretsAndConfigMapsOf } from '../authorization/node/references.ts';
import type { ImmutablePod } from './pod-defaults.ts';

type Account = Immutable<ServiceAccount>;
type SecretUser = Pick<Immutable<Container>, 'name' | 'env' | 'envFrom'>;

/** The annotation of a ServiceAccount whose pods may use only the secrets that it lists. */
export const SECRETS_ANNOTATION = 'kubernetes.io/enforce-mountable-secrets';
/** The texts that Go's strconv.ParseBool reads as true. */
const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** Reports whether pods of the account may use only the secrets that the account lists. */
export function limitsSecrets({ metadata }: Account): boolean {
  return TRUE.has(metadata.annotations?.[SECRETS_ANNOTATION] ?? '');
}

/** Returns the objection to a secret that a new pod refers to; undefined if there is none. */
export function secretObjection(account: Account, { spec }: ImmutablePod): string | undefined {
  const listed = namesOf(account.secrets);
  const suffix = notReferenced(account);
  for (const { secret } of spec.volumes ?? []) {
    if (secret !== undefined && !listed.has(secret.secretName ?? ''))
      return `volume with secret.secretName="${secret.secretName ?? ''}" ${suffix}`;
  }
  const objection =
    ofContainers(account, 'init container', spec.initContainers) ??
    ofContainers(account, 'container', spec.containers);
  if (objection !== undefined) return objection;
  const pullSecrets = namesOf(account.imagePullSecrets);
  for (const [index, { name = '' }] of (spec.imagePullSecrets ?? []).entries()) {
    if (!pullSecrets.has(name))
      return (
        `imagePullSecrets[${index}].name="${name}" is not allowed because service account ` +
        `${account.metadata.name} does not reference that imagePullSecret`
      );
  }
  return undefined;
}

/** Does the same for the ephemeral containers of a pod. */
export function ephemeralSecretObjection(
  account: Account,
  { spec }: ImmutablePod,
): string | undefined {
  return ofContainers(account, 'ephemeral container', spec.ephemeralContainers);
}

function ofContainers(
  account: Account,
  kind: string,
  containers: readonly SecretUser[] = [],
): string | undefined {
  const listed = namesOf(account.secrets);
  const suffix = notReferenced(account);
  for (const { name, env = [], envFrom = [] } of containers) {
    for (const { name: variable, valueFrom } of env) {
      const secret = valueFrom?.secretKeyRef;
      if (secret !== undefined && !listed.has(secret.name ?? ''))
        return (
          `${kind} ${name} with envVar ${variable} referencing ` +
          `secret.secretName="${secret.name ?? ''}" ${suffix}`
        );
    }
    for (const { secretRef } of envFrom) {
      if (secretRef !== undefined && !listed.has(secretRef.name ?? ''))
        return (
          `${kind} ${name} with envFrom referencing secret.secretName="${secretRef.name ?? ''}" ` +
          suffix
        );
    }
  }
  return undefined;
}

/**
 * Returns the objection to what the mirror of a static pod refers to. A kubelet that runs a pod from
 * a file must not get access to secrets and tokens by it.
 */
export function mirrorObjection(pod: ImmutablePod): string | undefined {
  if ((pod.spec.serviceAccountName ?? '') !== '')
    return 'a mirror pod may not reference service accounts';
  for (const [kind, name] of secretsAndConfigMapsOf(pod))
    if (kind === 'secret' && name !== undefined) return 'a mirror pod may not reference secrets';
  const sources = (pod.spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  return sources.some(({ serviceAccountToken }) => serviceAccountToken !== undefined)
    ? 'a mirror pod may not use ServiceAccountToken volume projections'
    : undefined;
}

const namesOf = (references: readonly { readonly name?: string }[] = []): ReadonlySet<string> =>
  new Set(references.map(({ name = '' }) => name));

const notReferenced = ({ metadata }: Account): string =>
  `is not allowed because service account ${metadata.name} does not reference that secret`;
