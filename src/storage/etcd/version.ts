// The features that a version of etcd has.

/**
 * For each minor version, the first patch in which a response to a progress request never overtakes
 * the events that it covers.
 */
const PROGRESS_SINCE_PATCH: Readonly<Record<number, number>> = { 4: 31, 5: 13 };

/**
 * Reports whether progress requests are reliable in this version, which a member reports in its
 * status.
 */
export function hasProgressRequests(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/).map(Number);
  return (
    major > 3 ||
    (major === 3 &&
      (minor >= 6 || patch >= (PROGRESS_SINCE_PATCH[minor] ?? Number.POSITIVE_INFINITY)))
  );
}
