// The version of Kubernetes whose API is served, as /version, metrics and /statusz publish it.

import * as apierrors from '../machinery/apierrors.ts';
import { acceptsType } from './endpoints/negotiation.ts';
import { FreshObject } from './registry/encoded-object.ts';
import type { NonResourceRoute } from './endpoints/router.ts';

/** The patch release whose behaviour is implemented and compared with. Clients check their skew against it. */
export const DEFAULT_VERSION = 'v1.36.3';

const JSON_TYPE = 'application/json';

/** The fields of upstream's version.Info. */
export interface VersionInfo {
  readonly major: string;
  readonly minor: string;
  readonly emulationMajor: string;
  readonly emulationMinor: string;
  readonly minCompatibilityMajor: string;
  readonly minCompatibilityMinor: string;
  readonly gitVersion: string;
  /** Empty: this is no build of Kubernetes' sources, so that no commit of theirs describes it. */
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  /** Node.js and its engine, in the fields that name Go's version and compiler upstream. */
  readonly goVersion: string;
  readonly compiler: string;
  readonly platform: string;
}

/** `gitVersion`: 'v1.36.3'. */
export function versionInfo(gitVersion: string): VersionInfo {
  const [, major = '1', minor = '36'] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion,
    gitCommit: '',
    gitTreeState: '',
    // What upstream says of builds whose date is not known.
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: `node${process.version}`,
    compiler: 'v8',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}

export function versionRoute(gitVersion: string): NonResourceRoute {
  const object = new FreshObject(versionInfo(gitVersion));
  return {
    handles: (path) => path === '/version' || path === '/version/',
    handle: async (request) => {
      // Indented for everybody, and in no other form.
      if (!acceptsType(request, JSON_TYPE)) throw apierrors.noRepresentation([JSON_TYPE]);
      return { code: 200, body: { kind: 'object', object }, format: { mediaType: JSON_TYPE, pretty: true } };
    },
  };
}
