// Maps a request to the kubelet's API to the permission that it needs: a verb on subresources of
// the Node. The mapping of paths is upstream's (pkg/kubelet/server/auth.go), with the fine-grained
// subresources (KEP-2862) that are on by default.

export interface RequestAttributes {
  /** The API verb: '' for an HTTP method without one, which only a rule for '*' allows. */
  readonly verb: string;
  /** Subresources of `nodes`: permission for any of them is enough. Checked in this order. */
  readonly subresources: readonly string[];
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Paths with their own permission, which nodes/proxy includes. */
const FINE_GRAINED: readonly (readonly [root: string, subresource: string])[] = [
  ['/pods', 'pods'],
  ['/healthz', 'healthz'],
  ['/configz', 'configz'],
  ['/runningpods', 'pods'],
];

/** Paths that nodes/proxy does not include. */
const SEPARATE: readonly (readonly [root: string, subresource: string])[] = [
  ['/stats', 'stats'],
  ['/metrics', 'metrics'],
  ['/logs', 'log'],
  ['/checkpoint', 'checkpoint'],
  ['/statusz', 'statusz'],
  ['/flagz', 'configz'],
];

/** Returns the permission for a request. `path`: decoded, without the query. */
export function requestAttributes(method: string, path: string): RequestAttributes {
  const fine = FINE_GRAINED.find(([root]) => isSubpath(path, root))?.[1];
  const own = SEPARATE.find(([root]) => isSubpath(path, root))?.[1] ?? 'proxy';
  return {
    verb: Object.hasOwn(VERBS, method) ? VERBS[method]! : '',
    subresources: fine === undefined ? [own] : [fine, own],
  };
}

function isSubpath(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}
