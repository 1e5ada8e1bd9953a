// The version of Kubernetes that a component implements, as /version, metrics and /statusz publish it.

/** The fields of upstream's version.Info. */
export interface VersionInfo {
  readonly major: string;
  readonly minor: string;
  readonly emulationMajor: string;
  readonly emulationMinor: string;
  readonly minCompatibilityMajor: string;
  readonly minCompatibilityMinor: string;
  readonly gitVersion: string;
  /** Empty: no commit of Kubernetes' repository describes this build. */
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  /** Node.js and its engine. Upstream has Go's version and compiler in these fields. */
  readonly goVersion: string;
  readonly compiler: string;
  readonly platform: string;
}

/** Returns the version information of a component. `gitVersion`: such as 'v1.36.3'. */
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
    // Upstream's value for builds without a date.
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: `node${process.version}`,
    compiler: 'v8',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}
