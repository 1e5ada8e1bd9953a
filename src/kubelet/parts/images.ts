// Composes the manager of images.

import type { PodEvents } from '../events.ts';
import { CredentialPlugins } from '../images/credential-plugins.ts';
import { ImageManager } from '../images/image-manager.ts';
import { pluginsIn } from '../images/run-credential-plugin.ts';
import type { Base } from './base.ts';

export function makeImageManager(
  { config, runtime: { images }, metrics, logger }: Base,
  events: PodEvents,
): ImageManager {
  const { clock, credentialPlugins, maxParallelPulls, pullRate } = config;
  const common = {
    images,
    clock,
    events,
    onPulled: (bytes: number, seconds: number) => metrics.imagePulled(bytes, seconds),
    ...(maxParallelPulls !== undefined && { maxParallelPulls }),
    ...(pullRate !== undefined && { pullRate }),
  };
  if (credentialPlugins === undefined) return new ImageManager(common);
  const plugins = new CredentialPlugins({
    providers: credentialPlugins.providers,
    run: pluginsIn(credentialPlugins.directory),
    clock,
    logger,
    metrics,
  });
  return new ImageManager({
    ...common,
    nodeCredentials: (image, signal) => plugins.credentialsFor(image, signal),
  });
}
