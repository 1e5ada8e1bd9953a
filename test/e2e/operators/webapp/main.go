package main

import (
	"flag"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kubernetesscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

func main() {
	port := flag.Int("port", 9443, "port of the webhooks, on 127.0.0.1")
	certificates := flag.String("certificates", "", "folder with tls.crt and tls.key of the webhooks")
	flag.Parse() // controller-runtime adds --kubeconfig
	ctrl.SetLogger(klog.Background())
	if err := run(*port, *certificates); err != nil {
		klog.ErrorS(err, "operator ended")
		os.Exit(1)
	}
}

func run(port int, certificates string) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(kubernetesscheme.AddToScheme(scheme))
	addToScheme(scheme)
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:           scheme,
		Metrics:          metricsserver.Options{BindAddress: "0"},
		WebhookServer:    webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: certificates}),
		LeaderElection:   true,
		LeaderElectionID: "webapp-operator", LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	if err := addReconciler(manager); err != nil {
		return err
	}
	if err := addWebhooks(manager); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
