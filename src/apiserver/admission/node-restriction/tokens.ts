// Rules for tokens. A kubelet may request tokens for the pods of its node: bound to the pod, and
// for an audience that a volume of the pod requests, or that an administrator has allowed by name.

import type { TokenRequest } from '#api/groups/authentication/v1/index.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Volume,
} from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { CSIDriver } from '#api/groups/storage/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { NodeRequest, Objection } from './objection.ts';

type ReadPod = Immutable<Pod>;
type Services = NodeRequest['services'];

/**
 * The CSI drivers that have replaced in-tree volume plugins, by the name of the volume's source.
 */
const REPLACED_BY = [
  ['awsElasticBlockStore', 'ebs.csi.aws.com'],
  ['azureDisk', 'disk.csi.azure.com'],
  ['azureFile', 'file.csi.azure.com'],
  ['cinder', 'cinder.csi.openstack.org'],
  ['gcePersistentDisk', 'pd.csi.storage.gke.io'],
  ['portworxVolume', 'pxd.portworx.com'],
  ['vsphereVolume', 'csi.vsphere.vmware.com'],
] as const;

export async function tokenObjection(request: NodeRequest): Promise<Objection> {
  const { attributes, node, services } = request;
  const { spec } = attributes.object as Immutable<TokenRequest>;
  const { apiVersion, kind, name = '', uid = '' } = spec.boundObjectRef ?? {};
  if (apiVersion !== 'v1' || kind !== 'Pod' || name === '')
    return 'node requested token not bound to a pod';
  if (uid === '') return 'node requested token with a pod binding without a uid';
  const pod = await services.find<ReadPod>('', 'pods', attributes.namespace, name);
  if (pod === undefined) throw apierrors.notFound({ group: '', resource: 'pods' }, name);
  if (pod.metadata.uid !== uid) {
    return (
      `the UID in the bound object reference (${uid}) does not match the UID in record. ` +
      'The object might have been deleted and then recreated'
    );
  }
  if (pod.spec.nodeName !== node)
    return 'node requested token bound to a pod scheduled on a different node';
  return audienceObjection(request, pod, spec.audiences ?? []);
}

async function audienceObjection(
  { attributes, services }: NodeRequest,
  pod: ReadPod,
  audiences: readonly string[],
): Promise<Objection> {
  const [audience = '', ...others] = audiences;
  if (others.length > 0) return 'node may only request 0 or 1 audiences';
  const problems: string[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    const tokens = (volume.projected?.sources ?? []).flatMap(
      ({ serviceAccountToken }) => serviceAccountToken ?? [],
    );
    if (tokens.some((token) => (token.audience ?? '') === audience)) return undefined;
    try {
      if (await isAskedByDriver(services, pod, volume, audience)) return undefined;
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
      problems.push(errorMessage(error));
    }
  }
  if (problems.length > 0) {
    const what = problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`;
    return `error validating audience ${quote(audience)}: ${what}`;
  }
  const { user, namespace, name } = attributes;
  const { decision } = await services.authorizer.authorize({
    user,
    isResourceRequest: true,
    path: '',
    verb: 'request-serviceaccounts-token-audience',
    apiGroup: '',
    apiVersion: 'v1',
    namespace,
    resource: audience,
    subresource: '',
    name,
  });
  if (decision === 'allow') return undefined;
  return (
    `audience ${quote(audience)} not found in pod spec volume, ${user.name} is not ` +
    'authorized to request tokens for this audience'
  );
}

/**
 * Reports whether the volume's CSI driver requests tokens for the audience. Throws NotFound if an
 * object on the way to the driver is missing.
 */
async function isAskedByDriver(
  services: Services,
  pod: ReadPod,
  volume: Immutable<Volume>,
  audience: string,
): Promise<boolean> {
  const driver = await driverOf(services, pod, volume);
  if (driver === undefined) return false;
  const { spec } = await get<Immutable<CSIDriver>>(
    services,
    'storage.k8s.io',
    'csidrivers',
    '',
    driver,
  );
  return (spec.tokenRequests ?? []).some((request) => request.audience === audience);
}

async function driverOf(
  services: Services,
  pod: ReadPod,
  volume: Immutable<Volume>,
): Promise<string | undefined> {
  const { ephemeral, persistentVolumeClaim, csi } = volume;
  if (ephemeral?.volumeClaimTemplate !== undefined)
    return driverOfClaim(services, pod, `${pod.metadata.name}-${volume.name}`);
  if (persistentVolumeClaim !== undefined)
    return driverOfClaim(services, pod, persistentVolumeClaim.claimName);
  return csi?.driver ?? REPLACED_BY.find(([source]) => volume[source] !== undefined)?.[1];
}

async function driverOfClaim(
  services: Services,
  { metadata }: ReadPod,
  name: string,
): Promise<string | undefined> {
  const namespace = metadata.namespace ?? '';
  const claim = await get<Immutable<PersistentVolumeClaim>>(
    services,
    '',
    'persistentvolumeclaims',
    namespace,
    name,
  );
  const { spec } = await get<Immutable<PersistentVolume>>(
    services,
    '',
    'persistentvolumes',
    '',
    claim.spec.volumeName ?? '',
  );
  return spec.csi?.driver ?? REPLACED_BY.find(([source]) => spec[source] !== undefined)?.[1];
}

async function get<T extends KubeObject>(
  services: Services,
  group: string,
  resource: string,
  namespace: string,
  name: string,
): Promise<T> {
  // Upstream's caches name the kind of the object in this error, not its resource.
  const object = name === '' ? undefined : await services.find<T>(group, resource, namespace, name);
  if (object === undefined)
    throw apierrors.notFound({ group, resource: resource.replace(/s$/, '') }, name);
  return object;
}
