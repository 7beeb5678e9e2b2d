"""Every public estimator, to be examined by being listed here."""

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    JamesSteinDenoiser,
    LloydKMeans,
    MarginalReleaser,
    PrivateCovariance,
    PrivateGMM,
    PrivateHistogram,
    PrivateMean,
    PrivateMedian,
    PrivateMinMaxScaler,
    PrivatePCA,
    PrivateQuantile,
    PrivateRobustScaler,
    PrivateSearchCV,
    PrivateStandardScaler,
    PrivateTrimmedMean,
    PrivateVariance,
    make_private_pipeline,
)

# The two long layers see these on fewer tables; the whole of them is a slow test.
EXPENSIVE = [
    FriendlyCoreKMeans(3, n_init=1),
    FriendlyCoreKMeans(2, method="friendly", n_parts=12, epsilon=40.0, n_init=1),
    LloydKMeans(3),
    LloydKMeans(3, delta=0.0, epsilon=2.0, max_iter=3),
    PrivateGMM(2, max_iter=2, n_init=1),
    PrivateCovariance(epsilon=4.0),
    PrivateCovariance(method="friendly", epsilon=40.0),
    PrivatePCA(epsilon=4.0),
    PrivateHistogram(bins=4, epsilon=2.0),
    PrivateMedian(),
    PrivateQuantile(0.9, epsilon=2.0, delta=0.0, method="exponential"),
    PrivateTrimmedMean(epsilon=2.0),
    PrivateVariance(epsilon=4.0),
    PrivateStandardScaler(epsilon=4.0),
    PrivateRobustScaler(epsilon=4.0),
    PrivateMinMaxScaler(epsilon=4.0),
    MarginalReleaser(1, epsilon=4.0),
    PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, mean_trials=2, epsilon=4.0),
    make_private_pipeline(PrivateStandardScaler(), PrivateMean(), epsilon=4.0),
    make_private_pipeline(
        FriendlyCoreFilter(), PrivateMean(method="friendly"), JamesSteinDenoiser(), epsilon=6.0
    ),
]
ESTIMATORS = [
    PrivateMean(),
    PrivateMean(epsilon=2.0, trim=True, denoiser="auto"),
    PrivateMean(epsilon=4.0, method="friendly"),
    FriendlyCoreFilter(epsilon=4.0),
    *EXPENSIVE,
]
