// The configuration file of a private containerd, which uses nothing outside of the given
// directories but the machine's settings of registries and its runtime handlers.

export interface ContainerdFileConfig {
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  readonly snapshotter: 'overlayfs' | 'native';
  readonly sandboxImage: string;
  /** Whether the host does not allow processes to lower their OOM score. */
  readonly restrictOomScoreAdj: boolean;
  readonly cniConfDir: string;
  readonly cniBinDir: string;
  /** The directory with a directory for each registry, which has a hosts.toml: its mirrors. */
  readonly registryDir: string;
  /** Whether systemd manages the cgroups. */
  readonly systemdCgroup: boolean;
  /** Tables of further runtime handlers: see machineHandlers. */
  readonly handlers: string;
}

/**
 * The machine's mirrors, certificates and plain-HTTP registries: a directory with a hosts.toml for
 * each registry. It is the default of containerd 2; containerd 1.5 to 1.7 have none.
 */
const REGISTRY_HOSTS = '/etc/containerd/certs.d';

/** Formats a basic string of TOML. JSON strings are valid, except for DEL. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007f');
}

const unused = [
  'io.containerd.snapshotter.v1.aufs',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.zfs',
  'io.containerd.tracing.processor.v1.otlp',
  'io.containerd.internal.v1.tracing',
];

/**
 * Returns the configuration in format version 2, which containerd 1.3 to 2.x support. The transfer
 * service, by which containerd pulls from 2.1 on, would take the two directories of registries for
 * one with a colon in its name. Versions before 2.1 ignore that section.
 */
export function containerdToml(config: ContainerdFileConfig): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = ${quoted(config.root)}
state = ${quoted(config.state)}
disabled_plugins = [${unused.map(quoted).join(', ')}]

[grpc]
  address = ${quoted(config.socket)}

[${cri}]
  sandbox_image = ${quoted(config.sandboxImage)}
  restrict_oom_score_adj = ${config.restrictOomScoreAdj}
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  max_container_log_line_size = 16384
  enable_cdi = true

  [${cri}.containerd]
    snapshotter = ${quoted(config.snapshotter)}
    default_runtime_name = "runc"

    [${cri}.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [${cri}.containerd.runtimes.runc.options]
        SystemdCgroup = ${config.systemdCgroup}

  [${cri}.cni]
    bin_dir = ${quoted(config.cniBinDir)}
    conf_dir = ${quoted(config.cniConfDir)}
    max_conf_num = 1

  [${cri}.registry]
    config_path = ${quoted(`${config.registryDir}:${REGISTRY_HOSTS}`)}

[plugins."io.containerd.cri.v1.images"]
  use_local_image_pull = true
${config.handlers}`;
}
