package team

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func TestReconciler(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	environment := &envtest.Environment{} // reads KUBEBUILDER_ASSETS
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = environment.Stop() })
	manager, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Reconciler{manager.GetClient()}).SetupWithManager(manager); err != nil {
		t.Fatal(err)
	}
	go func() { _ = manager.Start(ctx) }()

	api, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	eventually := func(what string, condition func() bool) {
		t.Helper()
		poll := func(context.Context) (bool, error) { return condition(), nil }
		if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, poll); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}

	blue := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "blue", Labels: map[string]string{"team": "sea"}}}
	if err := api.Create(ctx, blue); err != nil {
		t.Fatal(err)
	}
	var owner corev1.ConfigMap
	key := client.ObjectKey{Namespace: "blue", Name: "owner"}
	eventually("the ConfigMap names the team", func() bool {
		return api.Get(ctx, key, &owner) == nil && owner.Data["team"] == "sea"
	})

	// With upstream's programs a namespace terminates for ever; here the namespace controller runs.
	if err := api.Delete(ctx, blue); err != nil {
		t.Fatal(err)
	}
	eventually("the namespace is gone", func() bool {
		return apierrors.IsNotFound(api.Get(ctx, client.ObjectKeyFromObject(blue), blue))
	})
}
