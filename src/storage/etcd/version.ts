// Which features the versions of etcd have.

/** The patch of a minor version since which an answer to a request for progress never overtakes the events that it covers. */
const PROGRESS_SINCE_PATCH: Readonly<Record<number, number>> = { 4: 31, 5: 13 };

/** Whether requests for progress can be trusted, by the version that a member says. */
export function hasProgressRequests(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/).map(Number);
  return (
    major > 3 ||
    (major === 3 &&
      (minor >= 6 || patch >= (PROGRESS_SINCE_PATCH[minor] ?? Number.POSITIVE_INFINITY)))
  );
}
