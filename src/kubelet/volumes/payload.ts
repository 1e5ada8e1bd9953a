// Computes the files of a configMap, secret, downwardAPI or projected volume.

import * as apierrors from '#machinery/apierrors.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { metadataValue, resourceValue, type DownwardContext } from '../env/downward.ts';
import type { ObjectSource } from '../objects.ts';
import type { DownwardAPIVolumeFile, KeyToPath, Pod, Volume } from '../types.ts';
import type { FileProjection } from './atomic-writer.ts';

export interface TokenRequest {
  readonly pod: Pod;
  readonly audience: string | undefined;
  readonly expirationSeconds: number;
}

export interface PayloadContext {
  readonly objects: ObjectSource;
  readonly downward: DownwardContext;
  /** Returns a token of the pod's service account. */
  readonly token: (request: TokenRequest) => Promise<string>;
  /** Aborts when the pod's volumes are no longer wanted. */
  readonly signal?: AbortSignal;
}

export type MutablePayload = Map<string, FileProjection>;

const DEFAULT_MODE = 0o644;
const DEFAULT_TOKEN_SECONDS = 3600;
const encoder = new TextEncoder();

/**
 * Returns the files; undefined if the volume's kind has no files from the API. Rejects with the
 * reason of a failure.
 */
export async function volumePayload(
  pod: Pod,
  volume: Volume,
  context: PayloadContext,
): Promise<MutablePayload | undefined> {
  const namespace = pod.metadata.namespace ?? '';
  if (volume.configMap !== undefined) {
    const { name = '', items, optional, defaultMode } = volume.configMap;
    return await configMapFiles(
      context.objects,
      namespace,
      name,
      items,
      optional,
      defaultMode ?? DEFAULT_MODE,
    );
  }
  if (volume.secret !== undefined) {
    const { secretName = '', items, optional, defaultMode } = volume.secret;
    return await secretFiles(
      context.objects,
      namespace,
      secretName,
      items,
      optional,
      defaultMode ?? DEFAULT_MODE,
    );
  }
  if (volume.downwardAPI !== undefined) {
    return downwardFiles(
      pod,
      volume.downwardAPI.items ?? [],
      context.downward,
      volume.downwardAPI.defaultMode ?? DEFAULT_MODE,
    );
  }
  if (volume.projected !== undefined)
    return await projectedFiles(pod, namespace, volume.projected, context);
  return undefined;
}

async function projectedFiles(
  pod: Pod,
  namespace: string,
  projected: Immutable<v1.ProjectedVolumeSource>,
  context: PayloadContext,
): Promise<MutablePayload> {
  const mode = projected.defaultMode ?? DEFAULT_MODE;
  const payload: MutablePayload = new Map();
  const failures: string[] = [];
  for (const source of projected.sources ?? []) {
    try {
      for (const [path, file] of await projection(pod, namespace, source, mode, context))
        payload.set(path, file);
    } catch (error) {
      failures.push(errorMessage(error));
    }
  }
  // All problems are reported together.
  if (failures.length === 1) throw new Error(failures[0]);
  if (failures.length > 1) throw new Error(`[${failures.join(', ')}]`);
  return payload;
}

async function projection(
  pod: Pod,
  namespace: string,
  source: Immutable<v1.VolumeProjection>,
  mode: number,
  context: PayloadContext,
): Promise<MutablePayload> {
  if (source.configMap !== undefined) {
    const { name = '', items, optional } = source.configMap;
    return await configMapFiles(context.objects, namespace, name, items, optional, mode);
  }
  if (source.secret !== undefined) {
    const { name = '', items, optional } = source.secret;
    return await secretFiles(context.objects, namespace, name, items, optional, mode);
  }
  if (source.downwardAPI !== undefined)
    return downwardFiles(pod, source.downwardAPI.items ?? [], context.downward, mode);
  if (source.serviceAccountToken !== undefined) {
    const { audience, expirationSeconds, path } = source.serviceAccountToken;
    const token = await context.token({
      pod,
      audience,
      expirationSeconds: expirationSeconds ?? DEFAULT_TOKEN_SECONDS,
    });
    const owner = commonUser(pod);
    const isPrivate = owner !== undefined || pod.spec.securityContext?.fsGroup !== undefined;
    // With an fsGroup the file is given to the group later: its mode is 0640 in the end.
    return new Map([
      [
        path,
        {
          data: encoder.encode(token),
          mode: isPrivate ? 0o600 : mode,
          ...(owner !== undefined && { owner }),
        },
      ],
    ]);
  }
  const kind = Object.keys(source)[0] ?? 'nothing';
  throw new Error(`projected volume source ${kind} is not supported by this kubelet`);
}

/** Returns the common user of the pod's containers; undefined if one names none, or they differ. */
function commonUser({ spec }: Pod): number | undefined {
  const containers = [
    ...(spec.initContainers ?? []),
    ...spec.containers,
    ...(spec.ephemeralContainers ?? []),
  ];
  const users = new Set(
    containers.map(
      ({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser,
    ),
  );
  return users.size === 1 ? [...users][0] : undefined;
}

async function configMapFiles(
  objects: ObjectSource,
  namespace: string,
  name: string,
  items: readonly KeyToPath[] | undefined,
  optional: boolean | undefined,
  mode: number,
): Promise<MutablePayload> {
  const configMap = await ifThere(optional, objects.configMap(namespace, name));
  const data = new Map<string, Uint8Array>();
  for (const [key, value] of Object.entries(configMap?.data ?? {}))
    data.set(key, encoder.encode(value));
  for (const [key, value] of Object.entries(configMap?.binaryData ?? {}))
    data.set(key, Buffer.from(value, 'base64'));
  return selectFiles(data, items, optional, mode, 'configmap references non-existent config key');
}

async function secretFiles(
  objects: ObjectSource,
  namespace: string,
  name: string,
  items: readonly KeyToPath[] | undefined,
  optional: boolean | undefined,
  mode: number,
): Promise<MutablePayload> {
  const secret = await ifThere(optional, objects.secret(namespace, name));
  const data = new Map(
    Object.entries(secret?.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64')]),
  );
  return selectFiles(data, items, optional, mode, 'references non-existent secret key');
}

function selectFiles(
  data: ReadonlyMap<string, Uint8Array>,
  items: readonly KeyToPath[] | undefined,
  optional: boolean | undefined,
  mode: number,
  missing: string,
): MutablePayload {
  if (items === undefined || items.length === 0)
    return new Map([...data].map(([key, value]) => [key, { data: value, mode }]));
  const payload: MutablePayload = new Map();
  for (const item of items) {
    const value = data.get(item.key);
    if (value !== undefined) payload.set(item.path, { data: value, mode: item.mode ?? mode });
    else if (optional !== true) throw new Error(`${missing}: ${item.key}`);
  }
  return payload;
}

function downwardFiles(
  pod: Pod,
  items: readonly DownwardAPIVolumeFile[],
  context: DownwardContext,
  mode: number,
): MutablePayload {
  const payload: MutablePayload = new Map();
  for (const item of items) {
    let value: string;
    if (item.fieldRef !== undefined) value = metadataValue(pod, item.fieldRef.fieldPath);
    else if (item.resourceFieldRef !== undefined) {
      const name = item.resourceFieldRef.containerName ?? '';
      const container =
        pod.spec.containers.find((candidate) => candidate.name === name) ?? pod.spec.containers[0];
      if (container === undefined) throw new Error(`container ${name} not found`);
      value = resourceValue(pod, container, item.resourceFieldRef, context);
    } else throw new Error(`downward API file ${item.path} names neither a field nor a resource`);
    payload.set(item.path, { data: encoder.encode(value), mode: item.mode ?? mode });
  }
  return payload;
}

async function ifThere<T>(
  optional: boolean | undefined,
  found: Promise<T>,
): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (optional === true && apierrors.isNotFound(error)) return undefined;
    throw error;
  }
}
