// /version: which Kubernetes this is compatible with, and which Coxswain it is.

import { FreshObject } from './registry/encoded-object.ts';
import type { NonResourceRoute } from './endpoints/router.ts';

/** The Kubernetes version whose API is served; the build says that it is not Kubernetes itself. */
export const DEFAULT_VERSION = 'v1.36.0+coxswain';

export function versionRoute(gitVersion: string): NonResourceRoute {
  const [, major = '1', minor = '36'] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  const info = {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: `node${process.version}`,
    compiler: 'v8',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
  const object = new FreshObject(info);
  return {
    handles: (path) => path === '/version' || path === '/version/',
    handle: () =>
      Promise.resolve({ code: 200, body: { kind: 'object', object }, format: { mediaType: 'application/json', pretty: true } }),
  };
}
