// Warnings about files of one volume that overwrite each other, or have the path of a directory:
// the last one written is visible in the pod.

import { trimEnd } from '#machinery/text/trim.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as core from './types.ts';

type Volume = Immutable<core.Volume>;
type Projection = Immutable<core.VolumeProjection>;

/** A file and its source ('' if the volume has a single source). */
interface File {
  readonly path: string;
  readonly source: string;
}

export function pathWarnings(volumes: readonly Volume[]): string[] {
  return volumes.flatMap((volume) => {
    const { name, configMap, secret, downwardAPI, projected } = volume;
    const warnings: string[] = [];
    const add = (kind: () => string, files: readonly File[]): void => {
      for (const overlap of overlaps(files))
        warnings.push(`volume ${quote(name)} (${kind()}): overlapping paths: ${overlap}`);
    };
    add(() => `ConfigMap ${quote(configMap?.name ?? '')}`, filesOf(configMap?.items, ''));
    add(() => `Secret ${quote(secret?.secretName ?? '')}`, filesOf(secret?.items, ''));
    add(() => 'DownwardAPI', filesOf(downwardAPI?.items, ''));
    const sources = projected?.sources ?? [];
    for (const source of sources) {
      if (Object.keys(source).length === 0)
        warnings.push(`volume ${quote(name)} (Projected) has no sources provided`);
    }
    add(() => 'Projected', sources.flatMap(projectedFiles));
    return warnings;
  });
}

const filesOf = (items: readonly { readonly path: string }[] | undefined, source: string): File[] =>
  (items ?? []).map(({ path }) => ({ path, source }));

/** Returns the files of the first source. Validation rejects several sources. */
function projectedFiles({
  configMap,
  secret,
  downwardAPI,
  serviceAccountToken,
  clusterTrustBundle,
  podCertificate,
}: Projection): readonly File[] {
  if (configMap?.items !== undefined)
    return filesOf(configMap.items, `ConfigMap ${quote(configMap.name ?? '')}`);
  if (secret?.items !== undefined)
    return filesOf(secret.items, `Secret ${quote(secret.name ?? '')}`);
  if (downwardAPI?.items !== undefined) return filesOf(downwardAPI.items, 'DownwardAPI');
  if (serviceAccountToken !== undefined)
    return [{ path: serviceAccountToken.path, source: 'ServiceAccountToken' }];
  if (clusterTrustBundle !== undefined) {
    const { name, signerName = '', path } = clusterTrustBundle;
    return [{ path, source: `ClusterTrustBundle ${quote(name ?? signerName)}` }];
  }
  const {
    certificateChainPath = '',
    keyPath = '',
    credentialBundlePath = '',
  } = podCertificate ?? {};
  return [
    { path: certificateChainPath, source: 'PodCertificate chain' },
    { path: keyPath, source: 'PodCertificate key' },
    { path: credentialBundlePath, source: 'PodCertificate credential bundle' },
  ];
}

/** The number of files that are compared with each other, which takes quadratic time. */
const MAX_COMPARED = 100;

function overlaps(files: readonly File[]): string[] {
  if (files.length < 2) return [];
  const trimmed = files
    .slice(0, MAX_COMPARED)
    .map(({ path, source }) => ({ path: trimEnd(path, '/'), source }));
  return trimmed.flatMap((file, index) =>
    trimmed
      .slice(0, index)
      .filter((other) => overlap(file.path, other.path))
      .map((other) => `${text(file)} with ${text(other)}`),
  );
}

const overlap = (a: string, b: string): boolean =>
  a !== '' && b !== '' && (`${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`));

const text = ({ path, source }: File): string =>
  source === '' ? quote(path) : `${quote(path)} (${source})`;
