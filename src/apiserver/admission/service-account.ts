// Ensures that every pod runs as a ServiceAccount that exists, and uses no other secrets than the
// account allows. The pod gets the account's pull secrets and, if kubelets support it, a token.

import type { ServiceAccount as ServiceAccountObject } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { MOUNTED_TOKEN_SECONDS } from '../authentication/service-account-tokens.ts';
import type { AdmissionServices } from './services.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';
import { type ImmutablePod, isMirrorPod, isPodWrite } from './pod-defaults.ts';
import {
  ephemeralSecretObjection,
  limitsSecrets,
  mirrorObjection,
  secretObjection,
} from './secret-references.ts';

const DEFAULT_NAME = 'default';
const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
const VOLUME_PREFIX = 'kube-api-access-';
/** How long to wait for a new namespace's default account, in ms. */
const WAIT_MS = 2000;

type Admitted = AdmissionAttributes & { readonly object: KubeObject };
type Account = Immutable<ServiceAccountObject>;
type Spec = ImmutablePod['spec'];
type Container = Spec['containers'][number];
type Volume = NonNullable<Spec['volumes']>[number];

/** Reports whether the request adds ephemeral containers to a pod. */
function addsEphemeral({ resource, subresource, operation }: AdmissionTarget): boolean {
  return (
    resource.resource === 'pods' &&
    resource.group === '' &&
    subresource === 'ephemeralcontainers' &&
    operation === 'UPDATE'
  );
}

export class ServiceAccount implements AdmissionPlugin {
  readonly name = 'ServiceAccount';
  readonly #services: AdmissionServices;

  constructor(services: AdmissionServices) {
    this.#services = services;
  }

  concerns(target: AdmissionTarget): boolean {
    return (isPodWrite(target) && target.operation === 'CREATE') || addsEphemeral(target);
  }

  admit(attributes: Admitted): Awaitable<KubeObject> {
    const pod = attributes.object as ImmutablePod;
    if (addsEphemeral(attributes)) return pod;
    if (isMirrorPod(pod)) {
      refuseIf(attributes, mirrorObjection(pod));
      return pod;
    }
    const name = pod.spec.serviceAccountName || DEFAULT_NAME;
    return andThen(this.#accountOf(attributes.namespace, name), (account) =>
      this.#withAccount(attributes, name, account),
    );
  }

  /** Checks the final pod: plugins after this one may have changed the account and the secrets. */
  validate(attributes: AdmissionAttributes): Awaitable<void> {
    const admitted = attributes as Admitted;
    const pod = admitted.object as ImmutablePod;
    if (isMirrorPod(pod) && !addsEphemeral(attributes)) {
      refuseIf(admitted, mirrorObjection(pod));
      return;
    }
    const { namespace } = attributes;
    const name = pod.spec.serviceAccountName ?? '';
    if (name === '')
      refuseIf(admitted, `no service account specified for pod ${namespace}/${pod.metadata.name}`);
    const objectionOf = addsEphemeral(attributes) ? ephemeralSecretObjection : secretObjection;
    return andThen(this.#accountOf(namespace, name), (found) => {
      const account = existing(admitted, name, found);
      if (limitsSecrets(account)) refuseIf(admitted, objectionOf(account, pod));
    });
  }

  #withAccount(attributes: Admitted, name: string, found: Account | undefined): ImmutablePod {
    const pod = attributes.object as ImmutablePod;
    const account = existing(attributes, name, found);
    let { spec } = pod;
    const pullSecrets = account.imagePullSecrets ?? [];
    spec = { ...spec, serviceAccountName: name, serviceAccount: name };
    if ((spec.imagePullSecrets ?? []).length === 0 && pullSecrets.length > 0)
      spec = { ...spec, imagePullSecrets: pullSecrets };
    const automount =
      spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
    if (automount && this.#services.mountTokens)
      spec = withToken(spec, VOLUME_PREFIX + this.#services.random.nameSuffix(5));
    return { ...pod, spec };
  }

  #accountOf(namespace: string, name: string): Awaitable<Account | undefined> {
    const look = () => this.#services.find<Account>('', 'serviceaccounts', namespace, name);
    return andThen(look(), (account) => {
      if (account !== undefined || name !== DEFAULT_NAME) return account;
      const appearing = this.#services.appears('', 'serviceaccounts', namespace, name, WAIT_MS);
      return appearing.then((added) => (added ? look() : undefined));
    });
  }
}

/** Returns the account. Throws Forbidden if it does not exist. */
function existing(attributes: Admitted, name: string, account: Account | undefined): Account {
  if (account !== undefined) return account;
  throw refusal(
    attributes,
    `error looking up service account ${attributes.namespace}/${name}: serviceaccount ` +
      `${JSON.stringify(name)} not found`,
  );
}

/** Throws Forbidden if there is an objection. */
function refuseIf(attributes: Admitted, objection: string | undefined): void {
  if (objection !== undefined) throw refusal(attributes, objection);
}

function refusal({ resource, object }: Admitted, why: string): apierrors.StatusError {
  return apierrors.forbidden(resource, object.metadata.name ?? '', why);
}

/**
 * Returns the pod spec with the token, the cluster's root certificate and the namespace mounted
 * where client libraries expect them.
 */
function withToken(spec: Spec, volumeName: string): Spec {
  const needs = (container: Container): boolean =>
    !(container.volumeMounts ?? []).some((mount) => mount.mountPath === MOUNT_PATH);
  if (![...(spec.initContainers ?? []), ...spec.containers].some(needs)) return spec;
  const mounted = (container: Container): Container => {
    if (!needs(container)) return container;
    const mount = { name: volumeName, readOnly: true, mountPath: MOUNT_PATH };
    return { ...container, volumeMounts: [...(container.volumeMounts ?? []), mount] };
  };
  const volume: Volume = {
    name: volumeName,
    projected: {
      defaultMode: 0o644,
      sources: [
        { serviceAccountToken: { expirationSeconds: MOUNTED_TOKEN_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [
              {
                path: 'namespace',
                fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' },
              },
            ],
          },
        },
      ],
    },
  };
  return {
    ...spec,
    volumes: [...(spec.volumes ?? []), volume],
    containers: spec.containers.map(mounted),
    ...(spec.initContainers !== undefined && { initContainers: spec.initContainers.map(mounted) }),
  };
}
