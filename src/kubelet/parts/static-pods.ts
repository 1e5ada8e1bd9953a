// Composes the static pods from the sources of their manifests.

import { DirectorySource } from '../static-pods/directory-source.ts';
import { getText } from '../static-pods/http.ts';
import type { MirrorPods } from '../static-pods/mirror-pods.ts';
import {
  StaticPods,
  type StaticPodsConfig,
  type StaticPodSource,
} from '../static-pods/static-pods.ts';
import { UrlSource } from '../static-pods/url-source.ts';
import type { Base } from './base.ts';

const CHECK_MS = 20_000;

/** Makes the static pods of a directory, a URL, or both. */
export function makeStaticPods(
  { config, logger, signal }: Base,
  mirrors: MirrorPods,
  handlers: Pick<StaticPodsConfig, 'onAdd' | 'onRemove'>,
): StaticPods {
  const { clock, nodeName, staticPodPath: path, staticPodUrl: url } = config;
  const sources: StaticPodSource[] = [];
  if (path !== undefined) {
    const checkMs = config.staticPodCheckMs ?? CHECK_MS;
    sources.push(new DirectorySource({ clock, logger, nodeName, path, checkMs }));
  }
  if (url !== undefined) {
    const checkMs = config.staticPodUrlCheckMs ?? CHECK_MS;
    const headers = config.staticPodUrlHeaders ?? {};
    sources.push(new UrlSource({ clock, nodeName, url, headers, get: getText, checkMs, signal }));
  }
  return new StaticPods({ clock, logger, mirrors, sources, ...handlers });
}
