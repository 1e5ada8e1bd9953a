// Which images do not exist. A simulated node has every image but those whose name says that there
// is none, as people name one when they want to see a rollout fail (`kubectl set image
// deployment/web web=nginx:does-not-exist`): so no list of images is needed.

/** The whole tag, or the last part of the repository's name. */
const saysMissing =
  /^(?:404|missing|invalid|non-?existent|not-?found|does-?not-?exist|no-?such-[\w.-]+)$/i;

/**
 * What pulling an image of this canonical name fails with, in containerd's words; undefined where
 * it succeeds. A registry under the top-level domain `invalid`, which RFC 2606
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
