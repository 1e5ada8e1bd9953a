// Composes the volumes of pods, and the plugins of the node.

import { persistentVolumeClaims, persistentVolumes, secrets } from '#api/groups/core/v1/index.ts';
import type { SharedInformerFactory } from '#client/informers/index.ts';
import { selectsNode } from '../admission.ts';
import { Csi } from '../csi.ts';
import type { DraDrivers } from '../dra/drivers.ts';
import { pluginsRegistryDir } from '../paths.ts';
import { pluginDirectory, PluginManager, registrationAt } from '../plugins/index.ts';
import type { TokenManager } from '../tokens.ts';
import type { Node } from '../types.ts';
import type { ClaimSource } from '../volumes/claims.ts';
import { VolumeManager } from '../volumes/volume-manager.ts';
import type { Base } from './base.ts';
import type { Settings } from './settings.ts';

export interface StorageParts {
  readonly base: Base;
  readonly settings: Settings;
  readonly informers: SharedInformerFactory;
  /** Returns the Node; undefined while the API does not have it. */
  readonly nodeObject: () => Node | undefined;
  readonly tokens: TokenManager;
  readonly draDrivers: DraDrivers | undefined;
  /** Called when the set of volumes in use has changed. */
  readonly onVolumesInUse: () => void;
}

/** The volumes of pods, and the plugins of the node. */
export interface Storage {
  readonly csi: Csi;
  /** Undefined on simulated nodes. */
  readonly plugins: PluginManager | undefined;
  readonly volumes: VolumeManager;
}

export function makeStorage(parts: StorageParts): Storage {
  const { base, settings, informers, nodeObject, tokens, draDrivers, onVolumesInUse } = parts;
  const { config, recorder, logger, signal } = base;
  const { client, clock } = config;
  const { hostFiles, rootDir, localVolumesDir, mounter } = settings;
  const claims: ClaimSource = {
    claim: (namespace, name) =>
      client.resource(persistentVolumeClaims).namespace(namespace).get(name, { signal }),
    volume: (name) => client.resource(persistentVolumes).get(name, { signal }),
  };
  const csi = new Csi({
    client,
    clock,
    logger,
    signal,
    nodeName: config.nodeName,
    rootDir,
    mounter,
    hostFiles,
    informers,
    node: nodeObject,
    claims,
    tokens,
    events: recorder,
    expansionCheckMs: config.expansionCheckMs ?? 30_000,
    onVolumesInUse,
  });
  const plugins = hostFiles
    ? new PluginManager({
        directory: pluginDirectory(pluginsRegistryDir(rootDir), logger),
        open: (path) => registrationAt(path, clock),
        handlers: {
          CSIPlugin: csi.drivers,
          ...(draDrivers !== undefined && { DRAPlugin: draDrivers }),
        },
        clock,
        logger,
      })
    : undefined;
  const volumes = new VolumeManager({
    rootDir,
    clock,
    logger,
    mounter,
    hostFiles,
    localVolumesDir,
    claims,
    csi: csi.volumes,
    ...(config.flexVolumeDir !== undefined && { flexVolumeDir: config.flexVolumeDir }),
    secret: (namespace, name) =>
      client.resource(secrets).namespace(namespace).get(name, { signal }),
    grow: (pod, volume) => csi.grow(pod, volume),
    isReachable: ({ spec }) => {
      const self = nodeObject();
      const required = spec.nodeAffinity?.required;
      return self === undefined || required === undefined || selectsNode(required, self);
    },
  });
  return { csi, plugins, volumes };
}
