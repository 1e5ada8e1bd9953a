// The warning of a deprecated version.

import { compareKubeVersions } from '#api/machinery/kube-version.ts';
import type { CustomResource, CustomVersion } from '../description.ts';

/** Returns the warning for requests of the version; undefined if it is not deprecated. */
export function deprecationOf(
  resource: CustomResource,
  version: CustomVersion,
): string | undefined {
  if (!version.deprecated) return undefined;
  if (version.deprecationWarning !== undefined) return version.deprecationWarning;
  const { group, requestedKind: kind, versions } = resource;
  const [better] = versions
    .filter(
      ({ served, deprecated, name }) =>
        served && !deprecated && compareKubeVersions(name, version.name) < 0,
    )
    .map(({ name }) => name)
    .toSorted(compareKubeVersions);
  const text = `${group}/${version.name} ${kind} is deprecated`;
  return better === undefined ? text : `${text}; use ${group}/${better} ${kind}`;
}
