// Builds the parts of requests to drivers that come from the API: capability, secrets, attributes.

import { csiAccessMode } from '#csi/access-modes.ts';
import type { CsiInput } from '#csi/schema.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Pod } from '../../types.ts';
import { podAttributes } from './driver-policy.ts';
import type { CsiHost, CsiVolume, SecretReference } from './host.ts';
import type { NodeCapability } from './node-client.ts';

/** The service account tokens, among the attributes or secrets of a publish call. */
const TOKENS = 'csi.storage.k8s.io/serviceAccount.tokens';
const DEFAULT_TOKEN_SECONDS = 3600;

/**
 * Returns the capability. `fsGroup`: only for drivers that set the group of files themselves.
 */
export function volumeCapability(
  volume: CsiVolume,
  capabilities: ReadonlySet<NodeCapability>,
  fsGroup: number | undefined,
): CsiInput<'VolumeCapability'> {
  const mode = csiAccessMode(
    volume.accessModes[0] ?? 'ReadWriteOnce',
    capabilities.has('SINGLE_NODE_MULTI_WRITER'),
  );
  if (volume.isBlock) return { accessMode: { mode }, block: {} };
  return {
    accessMode: { mode },
    mount: {
      fsType: volume.fsType,
      mountFlags: volume.mountOptions,
      ...(fsGroup !== undefined &&
        capabilities.has('VOLUME_MOUNT_GROUP') && { volumeMountGroup: String(fsGroup) }),
    },
  };
}

/** Returns a secret's values. `field`: the name of the reference, for the error. */
export async function secretValues(
  host: Pick<CsiHost, 'secret'>,
  field: string,
  reference: SecretReference | undefined,
): Promise<Readonly<Record<string, string>>> {
  if (reference === undefined) return {};
  const { namespace, name } = reference;
  try {
    const { data = {} } = await host.secret(namespace, name);
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [
        key,
        Buffer.from(value, 'base64').toString('utf8'),
      ]),
    );
  } catch (error) {
    throw new Error(
      `fetching ${field} ${namespace}/${name} failed: kubernetes.io/csi: failed to find the secret ` +
        `${name} in the namespace ${namespace} with error: ${errorMessage(error)}`,
      { cause: error },
    );
  }
}

export interface PublishInputs {
  readonly volumeContext: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** Returns the attributes and secrets of a publish call: the volume's, the pod's, and its tokens. */
export async function publishInputs(
  host: CsiHost,
  pod: Pod,
  volume: CsiVolume,
): Promise<PublishInputs> {
  const driver = host.driverObject(volume.driver);
  const secrets = await secretValues(host, 'NodePublishSecretRef', volume.publishSecret);
  const volumeContext = { ...volume.attributes, ...podAttributes(driver, pod, volume) };
  const requests = volume.isBlock ? [] : (driver?.spec.tokenRequests ?? []);
  if (requests.length === 0) return { volumeContext, secrets };
  const tokens: Record<string, object> = {};
  for (const { audience, expirationSeconds = DEFAULT_TOKEN_SECONDS } of requests) {
    tokens[audience] = await host.token({
      pod,
      audience: audience === '' ? undefined : audience,
      expirationSeconds,
    });
  }
  const added = { [TOKENS]: JSON.stringify(tokens) };
  return driver?.spec.serviceAccountTokenInSecrets === true
    ? { volumeContext, secrets: { ...secrets, ...added } }
    : { volumeContext: { ...volumeContext, ...added }, secrets };
}
