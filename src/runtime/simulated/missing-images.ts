// Names of images that do not exist. A simulated node has every image except those whose name says
// that it is missing, as in `kubectl set image deployment/web web=nginx:does-not-exist`, which
// demonstrates a failed rollout: so no list of images is needed.

/** Matches the whole tag, or the last part of the repository's name. */
const saysMissing =
  /^(?:404|missing|invalid|non-?existent|not-?found|does-?not-?exist|no-?such-[\w.-]+)$/i;

/**
 * Returns the error of pulling an image with this canonical name, in containerd's words; undefined
 * if the pull succeeds. A registry with the top-level domain `invalid`, which RFC 2606
 * (https://www.rfc-editor.org/rfc/rfc2606#section-2) reserves for names that never resolve, is not
 * found; neither is an image whose tag or name says that it does not exist.
 */
export function missingImageError(name: string): string | undefined {
  const [, registry = '', repository = '', tag = '', digest = ''] =
    /^([^/]+)\/([^:@]+)(?::([^@]+))?(?:@(.+))?$/.exec(name) ?? [];
  const [host = ''] = registry.split(':');
  const resolving = `failed to resolve reference ${JSON.stringify(name)}`;
  if (/(?:^|\.)invalid$/i.test(host)) {
    const url = `https://${registry}/v2/${repository}/manifests/${digest || tag}`;
    return `${resolving}: failed to do request: Head ${JSON.stringify(url)}: dial tcp: lookup ${host}: no such host`;
  }
  const baseName = repository.slice(repository.lastIndexOf('/') + 1);
  return saysMissing.test(tag) || saysMissing.test(baseName)
    ? `${resolving}: ${name}: not found`
    : undefined;
}
