// Where upstream's integration tests start an API server in their own process, they start the one
// under test. Each patch replaces a part of one file of upstream's when the tests are built.

export interface Patch {
  readonly module: string;
  /** Relative to the module. */
  readonly file: string;
  /** The text that is replaced: from `from` up to, and without, `to`. */
  readonly from: string;
  readonly to: string;
  readonly replacement: string;
  /** Other texts that are replaced wherever they are. */
  readonly also: readonly (readonly [string, string])[];
}

const SERVER = '\t"coxswain.dev/integration-suites/server"\n';
/** Stops the server with the context, as upstream's own ends. */
const stopWith = (context: string): string => `	errCh = make(chan error)
	go func() {
		defer close(errCh)
		<-${context}.Done()
		stopServer()
	}()

`;
const LOOPBACK = ['server.GenericAPIServer.LoopbackClientConfig', 'loopback'] as const;

export const patches: readonly Patch[] = [
  {
    module: 'k8s.io/kubernetes',
    file: 'cmd/kube-apiserver/app/testing/testserver.go',
    from: '\tconfig, err := app.NewConfig(completedOptions)',
    to: '\tclient, err := kubernetes.NewForConfig(server.GenericAPIServer.LoopbackClientConfig)',
    replacement: `	_, _ = app.NewConfig, completedOptions
	if instanceOptions.StorageVersionWrapFunc != nil {
		server.Skip(t, "it changes Go structures of the server")
	}
	s.SecureServing.Listener.Close()
	extra := []string{"--etcd-prefix=" + storageConfig.Prefix}
	if !fs.Lookup("authorization-mode").Changed && !fs.Lookup("authorization-config").Changed {
		extra = append(extra, "--authorization-mode=AlwaysAllow")
	}
	if fs.Lookup("advertise-address").Changed {
		extra = append(extra, "--advertise-address="+s.GenericServerRunOptions.AdvertiseAddress.String())
	}
	if instanceOptions.RequestTimeout > 0 {
		extra = append(extra, "--request-timeout="+instanceOptions.RequestTimeout.String())
	}
	loopback, stopServer, err := server.Start(server.Options{
		Flags:    server.Sets(s.Flags().FlagSets),
		Defaults: server.Sets(options.NewServerRunOptions().Flags().FlagSets),
		Extra:    extra,
		Dir:      result.TmpDir,
		Port:     s.SecureServing.BindPort,
	})
	if err != nil {
		return result, err
	}
${stopWith('tCtx')}`,
    also: [LOOPBACK, ['import (\n', `import (\n${SERVER}`]],
  },
  {
    module: 'k8s.io/kubernetes',
    file: 'test/integration/framework/test_server.go',
    from: '\tgenericConfig, versionedInformers, storageFactory, err :=',
    to: '\t// wait for health\n',
    replacement: `	if setup.ModifyServerConfig != nil {
		server.SkipIfChanged(t, setup.ModifyServerConfig, func() *controlplane.Config {
			return &controlplane.Config{ControlPlane: controlplaneapiserver.Config{Generic: &genericapiserver.Config{}}}
		})
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	extra := []string{"--etcd-prefix=" + opts.Etcd.StorageConfig.Prefix}
	if slices.Equal(opts.Authorization.Modes, []string{"AlwaysAllow"}) {
		extra = append(extra, "--authorization-mode=AlwaysAllow")
	}
	kubeAPIServerClientConfig, stopServer, err := server.Start(server.Options{
		Flags:    server.Sets(opts.Flags().FlagSets),
		Defaults: server.Sets(options.NewServerRunOptions().Flags().FlagSets),
		Extra:    extra,
		Dir:      certDir,
		Port:     port,
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = completedOptions
${stopWith('ctx')}`,
    also: [
      ['import (\n', `import (\n${SERVER}\t"slices"\n`],
      ['\tapiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"\n', ''],
      ['\t"k8s.io/apimachinery/pkg/runtime"\n', ''],
      ['\taggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"\n', ''],
      ['\t"k8s.io/kubernetes/cmd/kube-apiserver/app"\n', ''],
      ['\t"k8s.io/kubernetes/pkg/api/legacyscheme"\n', ''],
      ['\tgeneratedopenapi "k8s.io/kubernetes/pkg/generated/openapi"\n', ''],
    ],
  },
  {
    module: 'k8s.io/apiextensions-apiserver',
    file: 'pkg/cmd/server/testing/testserver.go',
    from: '\tserver, err := completedConfig.New(',
    to: '\tt.Logf("Waiting for /healthz to be ok...")',
    replacement: `	_ = genericapiserver.NewEmptyDelegate
	s.RecommendedOptions.SecureServing.Listener.Close()
	loopback, stopServer, err := server.Start(server.Options{
		Extra: server.ExtensionFlags(customFlags, result.TmpDir),
		Dir:   result.TmpDir,
		Port:  s.RecommendedOptions.SecureServing.BindPort,
	})
	if err != nil {
		return result, err
	}
${stopWith('ctx')}`,
    also: [LOOPBACK, ['import (\n', `import (\n${SERVER}`]],
  },
];

/** Returns a file with its patch. Throws an Error if the file is not the one for which it was made. */
export function patched({ file, from, to, replacement, also }: Patch, source: string): string {
  const start = source.indexOf(from);
  const end = source.indexOf(to, start);
  if (start < 0 || end < 0) throw new Error(`${file} does not have the part that is replaced`);
  const text = source.slice(0, start) + replacement + source.slice(end);
  return also.reduce((result, [old, other]) => {
    if (!result.includes(old)) throw new Error(`${file} does not have ${JSON.stringify(old)}`);
    return result.replaceAll(old, other);
  }, text);
}
