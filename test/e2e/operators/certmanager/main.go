// Command certmanager runs one part of cert-manager: its controllers, its admission webhook or its CA injector. The parts are
// cert-manager's own; this file takes the place of cert-manager's commands, which lie in Go modules without published versions.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kubernetesscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	webhookconfig "github.com/cert-manager/cert-manager/internal/apis/config/webhook"
	webhookscheme "github.com/cert-manager/cert-manager/internal/apis/config/webhook/scheme"
	"github.com/cert-manager/cert-manager/internal/webhook"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	webhookconfigv1alpha1 "github.com/cert-manager/cert-manager/pkg/apis/config/webhook/v1alpha1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	requestsca "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	requestsselfsigned "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	"github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	"github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/util"
)

// The controllers of certificates and of the issuers that need no other service. Those of ACME, Vault and Venafi are left out.
var controllers = []string{
	issuers.ControllerName, clusterissuers.ControllerName,
	approver.ControllerName, requestsca.CRControllerName, requestsselfsigned.CRControllerName,
	trigger.ControllerName, issuing.ControllerName, keymanager.ControllerName, requestmanager.ControllerName,
	readiness.ControllerName, revisionmanager.ControllerName,
}

var (
	// controller-runtime has a flag of the name kubeconfig among the flags of the process.
	flags      = flag.NewFlagSet("certmanager", flag.ExitOnError)
	kubeconfig = flags.String("kubeconfig", "", "file with the address of the cluster and the credentials")
	namespace  = flags.String("namespace", "cert-manager", "namespace of the webhook's CA and of secrets of cluster issuers")
	port       = flags.Int("port", 0, "port of the webhook")
	host       = flags.String("host", "", "name or address in the webhook's certificate")
)

func main() {
	klog.InitFlags(flags)
	part := ""
	if len(os.Args) > 1 {
		part = os.Args[1]
		_ = flags.Parse(os.Args[2:]) // ends the process on an error
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctrl.SetLogger(klog.Background())
	run, known := map[string]func(context.Context) error{
		"controller": runControllers,
		"webhook":    runWebhook,
		"cainjector": runInjector,
	}[part]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: certmanager controller|webhook|cainjector --kubeconfig FILE [flags]")
		os.Exit(2)
	}
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", part, err)
		os.Exit(1)
	}
}

// runControllers runs the controllers until the context ends.
func runControllers(ctx context.Context) error {
	quantity := resource.MustParse("10m")
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:         *kubeconfig,
		KubernetesAPIQPS:   20,
		KubernetesAPIBurst: 50,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: *namespace, ClusterIssuerAmbientCredentials: true},
		ACMEOptions: controller.ACMEOptions{
			HTTP01SolverResourceRequestCPU: quantity, HTTP01SolverResourceRequestMemory: quantity,
			HTTP01SolverResourceLimitsCPU: quantity, HTTP01SolverResourceLimitsMemory: quantity,
			DNS01CheckRetryPeriod: 10 * time.Second,
		},
		IngressShimOptions: controller.IngressShimOptions{DefaultIssuerKind: "Issuer", DefaultIssuerGroup: cmapi.SchemeGroupVersion.Group},
		CertificateOptions: controller.CertificateOptions{
			CopiedAnnotationPrefixes:                 []string{"*", "-kubectl.kubernetes.io/"},
			CertificateRequestMinimumBackoffDuration: time.Hour,
			CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
		SchedulerOptions: controller.SchedulerOptions{MaxConcurrentChallenges: 60},
	})
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	for _, name := range controllers {
		constructor, found := controller.Known()[name]
		if !found {
			return fmt.Errorf("cert-manager has no controller %q", name)
		}
		built, err := constructor(factory)
		if err != nil {
			return fmt.Errorf("controller %s: %w", name, err)
		}
		group.Go(func() {
			if err := built.Run(5, ctx); err != nil {
				klog.ErrorS(err, "controller ended", "controller", name)
			}
		})
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	shared.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	group.Wait()
	return nil
}

// runWebhook serves the admission webhook with a certificate that its own CA signs. The CA is in a Secret of the cluster.
func runWebhook(ctx context.Context) error {
	scheme, _, err := webhookscheme.NewSchemeAndCodecs()
	if err != nil {
		return err
	}
	versioned := &webhookconfigv1alpha1.WebhookConfiguration{}
	scheme.Default(versioned)
	options := webhookconfig.WebhookConfiguration{}
	if err := scheme.Convert(versioned, &options, nil); err != nil {
		return err
	}
	options.KubeConfig = *kubeconfig
	options.SecurePort = int32(*port)
	options.HealthzPort = 0
	options.MetricsListenAddress = "0"
	options.TLSConfig.Dynamic.SecretNamespace = *namespace
	options.TLSConfig.Dynamic.SecretName = "cert-manager-webhook-ca"
	options.TLSConfig.Dynamic.DNSNames = strings.Split(*host, ",")
	server, err := webhook.NewCertManagerWebhookServer(klog.Background(), options)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

// runInjector writes CA bundles into webhook configurations, API services and definitions.
func runInjector(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	config = util.RestConfigWithUserAgent(config, "cainjector") // its name is the injector's field manager
	scheme := runtime.NewScheme()
	utilruntime.Must(kubernetesscheme.AddToScheme(scheme))
	utilruntime.Must(cmapi.AddToScheme(scheme))
	utilruntime.Must(apiextensions.AddToScheme(scheme))
	utilruntime.Must(apiregistration.AddToScheme(scheme))
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Client:  client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return err
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		Namespace:                    "",
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   true,
			cainjector.ValidatingWebhookConfigurationName: true,
			cainjector.APIServiceName:                     true,
			cainjector.CustomResourceDefinitionName:       true,
		},
	})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}
