// The operations that belong to no kind: discovery, the version, and the issuer of tokens.

import type { OpenApiType } from '#api/machinery/codec/object-codec.ts';
import type { OpenApiSchema } from '#api/machinery/openapi/index.ts';
import type { Scheme } from '#api/machinery/scheme.ts';
import { JWKS_PATH, OPENID_CONFIGURATION_PATH } from '../openid-routes.ts';
import { commonType, lowerGroup, upperFirst, upperGroup } from './names.ts';
import { OBJECTS, type Operation } from './operations.ts';

/** Fields of the version, in the order of upstream's type; the others are optional. */
const VERSION_FIELDS = [
  'major',
  'minor',
  'gitVersion',
  'gitCommit',
  'gitTreeState',
  'buildDate',
  'goVersion',
  'compiler',
  'platform',
];
const OPTIONAL_VERSION_FIELDS: Readonly<Record<string, string>> = {
  emulationMajor: 'The major version whose behaviour the server emulates.',
  emulationMinor: 'The minor version whose behaviour the server emulates.',
  minCompatibilityMajor: 'The lowest major version with which the stored objects are compatible.',
  minCompatibilityMinor: 'The lowest minor version with which the stored objects are compatible.',
};
const VERSION_NAME = 'io.k8s.apimachinery.pkg.version.Info';

/** The type of the answer of /version, which is not an API object. */
const versionType: OpenApiType = {
  name: VERSION_NAME,
  define: (definitions) => {
    definitions.add(VERSION_NAME, () => {
      const required: OpenApiSchema =
        definitions.version === 3 ? { default: '', type: 'string' } : { type: 'string' };
      const properties: Record<string, OpenApiSchema> = Object.fromEntries(
        VERSION_FIELDS.map((name) => [name, required]),
      );
      for (const [name, description] of Object.entries(OPTIONAL_VERSION_FIELDS))
        properties[name] = { description, type: 'string' };
      return {
        description: 'The version of the server, and how it was built.',
        properties,
        required: VERSION_FIELDS,
        type: 'object',
      };
    });
  },
};

/** Returns the operations of paths beside the API. `hasIssuer`: tokens have an issuer. */
export function serverOperations(hasIssuer: boolean): readonly Operation[] {
  const get = (path: string, operationId: string, rest: Partial<Operation>): Operation => ({
    path: `${path}/`,
    method: 'get',
    operationId,
    description: '',
    tag: '',
    parameters: [],
    codes: [200],
    consumes: [],
    produces: ['application/json'],
    ...rest,
  });
  const version = get('/version', 'getCodeVersion', {
    description: 'The version of the server.',
    tag: 'version',
    answer: versionType,
    consumes: ['application/json'],
  });
  if (!hasIssuer) return [version];
  return [
    get(OPENID_CONFIGURATION_PATH, 'getServiceAccountIssuerOpenIDConfiguration', {
      description: 'The OpenID configuration of the issuer of ServiceAccounts’ tokens.',
      tag: 'WellKnown',
    }),
    get(JWKS_PATH, 'getServiceAccountIssuerOpenIDKeyset', {
      description: 'The public keys that verify the tokens of ServiceAccounts.',
      tag: 'openid',
      produces: ['application/jwk-set+json'],
    }),
    version,
  ];
}

/** Returns the operations of discovery. `groups`: the versions of each group. */
export function discoveryOperations(
  groups: ReadonlyMap<string, Iterable<string>>,
  scheme: Scheme,
): Operation[] {
  const make = (
    path: string,
    operationId: string,
    description: string,
    tag: string,
    kind: string,
  ): Operation => {
    const responseType = commonType(scheme, kind);
    return {
      path,
      method: 'get',
      operationId,
      description,
      tag,
      parameters: [],
      ...(responseType !== undefined && { answer: responseType }),
      codes: [200],
      consumes: OBJECTS,
      produces: OBJECTS,
    };
  };
  const versions = [...groups].flatMap(([group, list]) =>
    [...list].map((version) =>
      make(
        group === '' ? `/api/${version}/` : `/apis/${group}/${version}/`,
        `get${upperGroup(group)}${upperFirst(version)}APIResources`,
        'The resources of this version of the group.',
        `${lowerGroup(group)}_${version}`,
        'APIResourceList',
      ),
    ),
  );
  const named = [...groups.keys()].filter((group) => group !== '');
  return [
    make('/api/', 'getCoreAPIVersions', 'The versions of the core group.', 'core', 'APIVersions'),
    make(
      '/apis/',
      'getAPIVersions',
      'The other groups and their versions.',
      'apis',
      'APIGroupList',
    ),
    ...named.map((group) =>
      make(
        `/apis/${group}/`,
        `get${upperGroup(group)}APIGroup`,
        'The versions of the group.',
        lowerGroup(group),
        'APIGroup',
      ),
    ),
    ...versions,
  ];
}
