// Reads discovery documents of other API servers. They are not trusted: only fields of the right
// types are used.

import { allSchemas } from '#api/all-schemas.ts';
import type {
  APIGroupDiscoveryList,
  APIResourceDiscovery,
  APIVersionDiscovery,
} from '#api/groups/apidiscovery/v2/index.ts';
import { DescriptorCodec } from '#api/machinery/codec/descriptor-codec.ts';
import type { APIResourceList } from '#api/machinery/meta/v1/index.ts';

const NO_KIND = { group: '', version: '', kind: '' };

function codecOf(group: string, version: string, kind: string, message: string): DescriptorCodec {
  return new DescriptorCodec({
    kind: { group, version, kind },
    message: allSchemas.message(message),
  });
}

const aggregated = codecOf(
  'apidiscovery.k8s.io',
  'v2',
  'APIGroupDiscoveryList',
  'apidiscovery/v2.APIGroupDiscoveryList',
);
const legacy = codecOf('', 'v1', 'APIResourceList', 'meta/v1.APIResourceList');

/**
 * Reports whether a media type is aggregated discovery, in version v2 or v2beta1, which have the
 * same fields.
 */
export function isAggregatedType(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim());
  const values = new Map(
    parameters.map((parameter) => [parameter.split('=')[0] ?? '', parameter.split('=')[1] ?? '']),
  );
  const version = values.get('v');
  return (
    type === 'application/json' &&
    values.get('g') === 'apidiscovery.k8s.io' &&
    values.get('as') === 'APIGroupDiscoveryList' &&
    (version === 'v2' || version === 'v2beta1')
  );
}

/**
 * Returns the versions of an aggregated document, by 'GROUP/VERSION'. Throws Error if the document
 * is invalid.
 */
export function readAggregated(body: Buffer): ReadonlyMap<string, APIVersionDiscovery> {
  const { object } = aggregated.decode({ ...parsed(body), apiVersion: 'apidiscovery.k8s.io/v2' });
  const list = object as unknown as APIGroupDiscoveryList;
  const versions = new Map<string, APIVersionDiscovery>();
  for (const { metadata, versions: ofGroup = [] } of list.items) {
    for (const version of ofGroup)
      versions.set(`${metadata?.name ?? ''}/${version.version}`, withKinds(version));
  }
  return versions;
}

/** Adds missing kinds, without which older clients fail. */
function withKinds(version: APIVersionDiscovery): APIVersionDiscovery {
  if (version.resources === undefined) return version;
  const resources = version.resources.map((resource) => ({
    ...resource,
    responseKind: resource.responseKind ?? NO_KIND,
    ...(resource.subresources !== undefined && {
      subresources: resource.subresources.map((each) => ({
        ...each,
        responseKind: each.responseKind ?? NO_KIND,
      })),
    }),
  }));
  return { ...version, resources };
}

/**
 * Converts the older form of one group version. Throws Error if the document is invalid or
 * contradictory.
 */
export function readLegacy(body: Buffer, version: string): APIVersionDiscovery {
  const { object } = legacy.decode({ ...parsed(body), apiVersion: 'v1' });
  const { resources: listed } = object as unknown as APIResourceList;
  const resources: APIResourceDiscovery[] = [];
  const byName = new Map<string, APIResourceDiscovery>();
  const add = (resource: APIResourceDiscovery): APIResourceDiscovery => {
    resources.push(resource);
    byName.set(resource.resource, resource);
    return resource;
  };
  const all = listed ?? [];
  for (const {
    name,
    namespaced,
    kind,
    verbs,
    shortNames,
    categories,
    singularName,
    group = '',
    version: of = '',
  } of all) {
    if (name.includes('/')) continue;
    add({
      resource: name,
      responseKind: { group, version: of, kind },
      scope: scopeOf(namespaced),
      singularResource: singularName,
      verbs,
      ...(shortNames !== undefined && { shortNames }),
      ...(categories !== undefined && { categories }),
    });
  }
  for (const { name, namespaced, kind, verbs, group = '', version: of = '' } of all) {
    const slash = name.indexOf('/');
    if (slash < 0) continue;
    const [resource, subresource] = [name.slice(0, slash), name.slice(slash + 1)];
    const scope = scopeOf(namespaced);
    const parent =
      byName.get(resource) ??
      add({
        resource,
        scope,
        responseKind: NO_KIND,
        singularResource: '',
        verbs: null as unknown as string[],
      });
    if (parent.scope !== scope) {
      throw new Error(
        `Error: Parent ${resource} (scope: ${parent.scope}) and subresource ${subresource} ` +
          `(scope: ${scope}) scope do not match`,
      );
    }
    (parent.subresources ??= []).push({
      subresource,
      responseKind: kind === '' ? NO_KIND : { group, version: of, kind },
      verbs,
    });
  }
  return { version, ...(resources.length > 0 && { resources }) };
}

function scopeOf(namespaced: boolean): 'Namespaced' | 'Cluster' {
  return namespaced ? 'Namespaced' : 'Cluster';
}

function parsed(body: Buffer): object {
  const value: unknown = JSON.parse(body.toString('utf8'));
  if (typeof value !== 'object' || value === null) throw new Error('the document is no object');
  return value;
}
