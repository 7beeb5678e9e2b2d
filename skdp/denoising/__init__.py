"""Denoising of released values, by what is known of their noise: free post-processing."""

from skdp.denoising._auto import AutoDenoiser, denoised
from skdp.denoising._base import Denoiser, Noise, Rule
from skdp.denoising._bayes import BayesDenoiser
from skdp.denoising._graph_denoisers import GraphWaveletDenoiser, TrendFilterDenoiser
from skdp.denoising._histogram import PrivateHistogram
from skdp.denoising._shrinkers import JamesSteinDenoiser, SoftThresholdDenoiser
from skdp.denoising._vector import (
    HistogramDisplay,
    confidence_ball,
    coordinate_interval,
    linear_interval,
)

__all__ = [
    "AutoDenoiser",
    "BayesDenoiser",
    "Denoiser",
    "GraphWaveletDenoiser",
    "HistogramDisplay",
    "JamesSteinDenoiser",
    "Noise",
    "PrivateHistogram",
    "Rule",
    "SoftThresholdDenoiser",
    "TrendFilterDenoiser",
    "confidence_ball",
    "coordinate_interval",
    "denoised",
    "linear_interval",
]
